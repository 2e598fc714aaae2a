use super::*;
use proptest::prelude::*;

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::Int),
        (-3_i64..3).prop_map(Number::Int),
        (-8_i64..8).prop_map(|step| Number::Int((1 << 53) + step)),
        (-8_i64..8).prop_map(|step| Number::Int(i64::MAX - step.abs())),
        any::<f64>().prop_filter("never NaN", |float| !float.is_nan()).prop_map(Number::Float),
        (-9_i32..9).prop_map(|half| Number::Float(f64::from(half) / 2.0)),
        (-8_i64..8).prop_map(|step| Number::Float(((1_i64 << 53) + step) as f64)),
        Just(Number::Float(ABOVE_INT)),
        Just(Number::Float(-ABOVE_INT)),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Number>> {
    prop_oneof![Just(Bound::Unbounded), number().prop_map(Bound::Included), number().prop_map(Bound::Excluded)]
}

fn is_between(value: Number, low: Bound<Number>, high: Bound<Number>) -> bool {
    let is_above = match low {
        Bound::Unbounded => true,
        Bound::Included(low) => value.compare(low).is_ge(),
        Bound::Excluded(low) => value.compare(low).is_gt(),
    };
    is_above
        && match high {
            Bound::Unbounded => true,
            Bound::Included(high) => value.compare(high).is_le(),
            Bound::Excluded(high) => value.compare(high).is_lt(),
        }
}

proptest! {
    #[test]
    fn bounds_of_whole_numbers_are_exact(low in bound(), high in bound(), value in number()) {
        if let Number::Int(int) = value {
            let inside = int_range(low, high).is_some_and(|(first, last)| (first..=last).contains(&int));
            prop_assert_eq!(inside, is_between(value, low, high));
        }
    }

    #[test]
    fn bounds_of_floating_point_numbers_are_exact(low in bound(), high in bound(), value in number()) {
        if let Number::Float(float) = value {
            let is_above = match float_bound(low, true) {
                Bound::Unbounded => true,
                Bound::Included(low) => float >= low,
                Bound::Excluded(low) => float > low,
            };
            let is_below = match float_bound(high, false) {
                Bound::Unbounded => true,
                Bound::Included(high) => float <= high,
                Bound::Excluded(high) => float < high,
            };
            prop_assert_eq!(is_above && is_below, is_between(value, low, high));
        }
    }

    #[test]
    fn equal_numbers_are_found_under_their_keys(left in number(), right in number()) {
        let is_found = match right {
            Number::Int(int) => equal_int(left) == Some(int),
            Number::Float(float) => equal_float(left) == Some(float),
        };
        prop_assert_eq!(is_found, left.compare(right).is_eq());
    }
}

use super::*;

fn operation<C, R>(client: u64, call: C, invoked: u64, answer: Option<(u64, R)>) -> Operation<C, R> {
    Operation { client, call, invoked, answer, is_void: false }
}

fn swap(expected: Option<&str>, value: &str) -> SettingCall {
    SettingCall::Swap { expected: expected.map(str::to_owned), value: Some(value.to_owned()) }
}

fn value(value: &str) -> SettingReturn {
    SettingReturn::Value(Some(value.to_owned()))
}

fn settings(history: &[Operation<SettingCall, SettingReturn>]) -> Verdict {
    check(&SettingModel, history, 100_000)
}

#[test]
fn concurrent_calls_may_have_happened_in_either_order() {
    let history = [
        operation(1, swap(None, "a"), 1, Some((10, SettingReturn::Done))),
        operation(2, swap(Some("a"), "b"), 2, Some((9, SettingReturn::Done))),
        operation(3, SettingCall::Read, 3, Some((4, SettingReturn::Value(None)))),
        operation(3, SettingCall::Read, 11, Some((12, value("b")))),
    ];
    assert_eq!(settings(&history), Verdict::Linearizable);
}

#[test]
fn a_value_that_was_answered_and_is_gone_is_found() {
    let history =
        [operation(1, swap(None, "a"), 1, Some((2, SettingReturn::Done))), operation(2, SettingCall::Read, 3, Some((4, SettingReturn::Value(None))))];
    assert_eq!(settings(&history), Verdict::Violation { ordered: vec![0], next: vec![1] });
}

#[test]
fn a_read_that_goes_back_is_found() {
    let history = [
        operation(1, swap(None, "a"), 1, Some((2, SettingReturn::Done))),
        operation(1, swap(Some("a"), "b"), 3, None),
        operation(2, SettingCall::Read, 4, Some((5, value("b")))),
        operation(2, SettingCall::Read, 6, Some((7, value("a")))),
    ];
    assert!(matches!(settings(&history), Verdict::Violation { .. }));
}

#[test]
fn a_call_without_an_answer_may_happen_late_or_never() {
    let mut history = vec![
        operation(1, swap(None, "a"), 1, Some((2, SettingReturn::Done))),
        operation(1, swap(Some("a"), "b"), 3, None),
        operation(2, SettingCall::Read, 4, Some((5, value("a")))),
    ];
    assert_eq!(settings(&history), Verdict::Linearizable, "never");
    history.push(operation(2, SettingCall::Read, 6, Some((7, value("b")))));
    assert_eq!(settings(&history), Verdict::Linearizable, "late");
}

#[test]
fn two_swaps_from_one_value_cannot_both_succeed() {
    let history =
        [operation(1, swap(None, "a"), 1, Some((10, SettingReturn::Done))), operation(2, swap(None, "b"), 2, Some((9, SettingReturn::Done)))];
    assert!(matches!(settings(&history), Verdict::Violation { .. }));
}

#[test]
fn ids_given_under_a_fenced_epoch_are_found() {
    let jobs = |history: &[_]| check(&JobModel, history, 100_000);
    let mut history = vec![
        operation(1, JobCall::Register, 1, Some((2, JobReturn::Epoch(5)))),
        operation(2, JobCall::Register, 3, None),
        operation(1, JobCall::Allocate(5), 4, Some((5, JobReturn::Given))),
        operation(1, JobCall::Read, 6, Some((7, JobReturn::Live(Some(8))))),
        operation(1, JobCall::Allocate(5), 8, Some((9, JobReturn::Refused))),
    ];
    assert_eq!(jobs(&history), Verdict::Linearizable);
    history.push(operation(1, JobCall::Allocate(5), 10, Some((11, JobReturn::Given))));
    assert!(matches!(jobs(&history), Verdict::Violation { .. }), "EP-1");
}

#[test]
fn many_calls_without_answers_do_not_blow_up_the_search() {
    let mut history: Vec<_> = (0..30).map(|at| operation(at, JobCall::Register, at, None)).collect();
    history.push(operation(40, JobCall::Register, 40, Some((41, JobReturn::Epoch(100)))));
    history.push(operation(40, JobCall::Read, 42, Some((43, JobReturn::Live(None)))));
    assert!(matches!(check(&JobModel, &history, 100_000), Verdict::Violation { .. }));
}

#[test]
fn a_removed_setting_is_gone() {
    let mut history = vec![
        operation(1, SettingCall::Put(Some("a".to_owned())), 1, Some((2, SettingReturn::Done))),
        operation(1, SettingCall::Put(None), 3, Some((4, SettingReturn::Done))),
        operation(2, swap(None, "b"), 5, Some((6, SettingReturn::Done))),
        operation(2, swap(Some("a"), "c"), 7, Some((8, SettingReturn::Refused))),
    ];
    assert_eq!(settings(&history), Verdict::Linearizable);
    history.push(operation(3, SettingCall::Read, 9, Some((10, value("a")))));
    assert!(matches!(settings(&history), Verdict::Violation { .. }));
}

//! From characters to tokens.
//!
//! What a character means depends on where it stands: after a field's operator everything up to the next space or parenthesis is its value, inside
//! a field's group words are values, elsewhere a word may begin with a field's name.

use super::error::{Problem, Span, Unsupported};
use super::scan::{Cursor, bare_word, quoted_text, quoted_word};
use super::token::{Comparison, Edge, FieldName, RangeValue, Spanned, Token, Value};
use crate::reserved::{is_name_part, is_name_start};

type Failure = (Problem, Span);

/// All tokens of a query.
pub(super) fn lex(text: &str) -> Result<Vec<Spanned>, Failure> {
    let mut lexer = Lexer { cursor: Cursor { text, at: 0 }, groups: Vec::new(), tokens: Vec::new() };
    loop {
        lexer.cursor.skip_space();
        let Some(character) = lexer.cursor.peek() else { return Ok(lexer.tokens) };
        lexer.step(character)?;
    }
}

struct Lexer<'a> {
    cursor: Cursor<'a>,
    /// The open parentheses: the field whose group each belongs to, if any.
    groups: Vec<Option<String>>,
    tokens: Vec<Spanned>,
}

impl Lexer<'_> {
    fn push(&mut self, token: Token, start: usize) {
        self.tokens.push(Spanned { token, span: self.cursor.span_from(start) });
    }

    fn field_of_group(&self) -> Option<&str> {
        self.groups.last().and_then(Option::as_deref)
    }

    fn step(&mut self, character: char) -> Result<(), Failure> {
        let start = self.cursor.at;
        match character {
            '(' => {
                self.cursor.next();
                self.groups.push(self.field_of_group().map(str::to_owned));
                self.push(Token::Open, start);
            }
            ')' => {
                self.cursor.next();
                self.groups.pop();
                self.push(Token::Close, start);
            }
            '-' if self.is_negation() => {
                self.cursor.next();
                if self.field_of_group().is_some() && self.cursor.rest().starts_with(|next: char| next.is_ascii_digit()) {
                    return Err((Problem::MinusInGroup, self.cursor.span_from(start)));
                }
                self.push(Token::Not("-"), start);
            }
            _ if self.field_of_group().is_some() => return self.step_in_group(character),
            '"' => {
                let name = quoted_text(&mut self.cursor)?;
                let name = FieldName { text: name, is_quoted: true, span: self.cursor.span_from(start) };
                if let Some(comparison) = self.comparison_after_name() {
                    return self.field(name, comparison, start);
                }
                let word = quoted_word(name.text, &mut self.cursor);
                self.push(Token::Value(Value::Word(word)), start);
            }
            '>' | '<' if self.is_loose_comparison() => {
                self.cursor.next();
                return Err((Problem::MissingField, self.cursor.span_from(start)));
            }
            _ => {
                if let Some((name, comparison)) = self.bare_field()? {
                    return self.field(name, comparison, start);
                }
                self.word_or_operator(start)?;
            }
        }
        Ok(())
    }

    /// Whether the `-` here negates what follows. `--verbose` and `->` are words, `- x` is a dash.
    fn is_negation(&self) -> bool {
        self.cursor.rest()[1..].chars().next().is_some_and(|next| !next.is_whitespace() && !matches!(next, '-' | '>' | ')'))
    }

    /// `>250` and `>= 250` after a space: the words of the body that it would be are not what was meant.
    fn is_loose_comparison(&self) -> bool {
        let after = self.cursor.rest().trim_start_matches(['<', '>']);
        after.chars().next().is_none_or(|next| next.is_whitespace() || next.is_ascii_digit() || matches!(next, '=' | '-' | '.'))
    }

    fn word_or_operator(&mut self, start: usize) -> Result<(), Failure> {
        let mut word = bare_word(&mut self.cursor, false)?;
        let span = self.cursor.span_from(start);
        let token = match &self.cursor.text[start..span.end] {
            "AND" => Token::And,
            "OR" => Token::Or,
            "NOT" => Token::Not("NOT"),
            raw => {
                if raw.starts_with('!') && raw.len() > 1 {
                    word.refused = Some((Problem::Unsupported(Unsupported::Bang), Span { start, end: start + 1 }));
                }
                Token::Value(Value::Word(word))
            }
        };
        self.push(token, start);
        Ok(())
    }

    fn step_in_group(&mut self, character: char) -> Result<(), Failure> {
        let start = self.cursor.at;
        match character {
            '>' | '<' => {
                let comparison = self.comparison().expect("one of its characters stands here");
                self.push(Token::Compare(comparison), start);
                self.value(comparison, start)
            }
            '[' | '{' | '"' => {
                self.value(Comparison::Match, start)?;
                if self.cursor.rest().starts_with(':') { Err(self.field_in_group(start)) } else { Ok(()) }
            }
            _ => match self.bare_field()? {
                Some(_) => Err(self.field_in_group(start)),
                None => self.word_or_operator(start),
            },
        }
    }

    fn field_in_group(&self, start: usize) -> Failure {
        (Problem::FieldInGroup { field: self.field_of_group().unwrap_or_default().to_owned() }, self.cursor.span_from(start))
    }

    /// A field's name and operator at the start of a bare word.
    fn bare_field(&mut self) -> Result<Option<(FieldName, Comparison)>, Failure> {
        let start = self.cursor.at;
        let rest = self.cursor.rest();
        if !rest.starts_with(is_name_start) {
            return Ok(None);
        }
        let length = rest.find(|character| !is_name_part(character)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        if after.starts_with("!=") {
            let start = start + length;
            return Err((Problem::Unsupported(Unsupported::NotEqual), Span { start, end: start + 2 }));
        }
        // `std::io`, `https://host`, `C:\dir` and `a->b` are text.
        let is_path = after.strip_prefix(':').is_some_and(|value| value.starts_with(':') || value.starts_with("//") || is_windows_path(value));
        if is_path || (name.ends_with('-') && !after.starts_with(':')) {
            return Ok(None);
        }
        self.cursor.at += length;
        let span = self.cursor.span_from(start);
        match self.comparison_after_name() {
            Some(comparison) => Ok(Some((FieldName { text: name.to_owned(), is_quoted: false, span }, comparison))),
            None => {
                self.cursor.at = start;
                Ok(None)
            }
        }
    }

    /// `:`, `>`, `>=`, `<`, `<=`, or one of the last four after a `:`.
    fn comparison_after_name(&mut self) -> Option<Comparison> {
        if self.cursor.eat(":") { Some(self.comparison().unwrap_or(Comparison::Match)) } else { self.comparison() }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        // The longer ones first.
        let all = [(">=", Comparison::AtLeast), ("<=", Comparison::AtMost), (">", Comparison::Above), ("<", Comparison::Below)];
        all.into_iter().find(|(sign, _)| self.cursor.eat(sign)).map(|(_, comparison)| comparison)
    }

    fn field(&mut self, name: FieldName, comparison: Comparison, start: usize) -> Result<(), Failure> {
        let field = name.text.clone();
        self.push(Token::Field(name, comparison), start);
        if self.cursor.peek() != Some('(') {
            return self.value(comparison, start);
        }
        let open = self.cursor.at;
        self.cursor.next();
        if comparison != Comparison::Match {
            return Err((Problem::GroupAfterComparison, self.cursor.span_from(open)));
        }
        self.groups.push(Some(field));
        self.push(Token::Open, open);
        Ok(())
    }

    /// The value that must stand here, after the operator of the field that began at `field_start`.
    fn value(&mut self, comparison: Comparison, field_start: usize) -> Result<(), Failure> {
        let start = self.cursor.at;
        let value = match self.cursor.peek() {
            Some('[' | '{') if comparison == Comparison::Match => Value::Range(self.range()?),
            Some('"') => {
                let text = quoted_text(&mut self.cursor)?;
                Value::Word(quoted_word(text, &mut self.cursor))
            }
            _ => Value::Word(bare_word(&mut self.cursor, false)?),
        };
        if self.cursor.at == start {
            let span = self.cursor.span_from(field_start);
            return Err((Problem::MissingValue { field: self.cursor.text[span.start..span.end].to_owned() }, span));
        }
        self.push(Token::Value(value), start);
        Ok(())
    }

    fn range(&mut self) -> Result<RangeValue, Failure> {
        let start = self.cursor.at;
        let is_lower_included = self.cursor.next() == Some('[');
        let lower = self.edge(is_lower_included)?;
        self.cursor.skip_space();
        let has_separator = self.cursor.eat("TO") && self.cursor.peek().is_some_and(char::is_whitespace);
        let mut upper = if has_separator { self.edge(true)? } else { None };
        self.cursor.skip_space();
        match self.cursor.peek() {
            Some(']') => {}
            Some('}') => upper.iter_mut().for_each(|edge| edge.is_included = false),
            _ => upper = None,
        }
        match (lower, upper) {
            (Some(lower), Some(upper)) => {
                self.cursor.next();
                Ok(RangeValue { lower, upper })
            }
            _ => {
                // Everything up to where it went wrong.
                self.cursor.next();
                Err((Problem::BrokenRange, self.cursor.span_from(start)))
            }
        }
    }

    fn edge(&mut self, is_included: bool) -> Result<Option<Edge>, Failure> {
        self.cursor.skip_space();
        let start = self.cursor.at;
        let word = match self.cursor.peek() {
            Some('"') => {
                let text = quoted_text(&mut self.cursor)?;
                quoted_word(text, &mut self.cursor)
            }
            _ => bare_word(&mut self.cursor, true)?,
        };
        let span = self.cursor.span_from(start);
        if let Some(refused) = word.refused {
            return Err(refused);
        }
        Ok(match (word.text.is_empty(), word.is_prefix) {
            (true, true) => Some(Edge { text: None, is_included, span }),
            (false, false) => Some(Edge { text: Some(word.text), is_included, span }),
            _ => None,
        })
    }
}

/// What follows `C:` in `C:\Users`.
fn is_windows_path(value: &str) -> bool {
    value.strip_prefix('\\').is_some_and(|name| name.starts_with(char::is_alphanumeric))
}

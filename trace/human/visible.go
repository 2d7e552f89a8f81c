package human

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks limits the combining marks of a character. No script needs more; many of them would cover neighboring lines.
const maxMarks = 4

// Hidden reports whether a character must be escaped, because it controls the terminal or is invisible: control
// characters (C0, DEL, C1), format characters (those that reorder text, zero-width ones, the joiner of emoji, the soft
// hyphen, tags), separators of lines and paragraphs, variation selectors except for text and emoji style, other
// characters that a font may ignore, and noncharacters. A newline and a tab are hidden too; callers that need them must
// keep them.
func Hidden(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0xad, r == 0xfe0e, r == 0xfe0f: // the last two are marks, whose number is limited
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Noncharacter_Code_Point)
}

// Marks counts consecutive combining marks. The zero value is ready to use.
type Marks int

// Over counts r, and reports whether it is a mark beyond the limit.
func (m *Marks) Over(r rune) bool {
	if r < 0x300 || !unicode.In(r, unicode.Mn, unicode.Me) {
		*m = 0
		return false
	}
	*m++
	return *m > maxMarks
}

// Visible escapes foreign text, so that it cannot control a terminal: hidden characters and too many combining marks as in JSON
// (\u202e; above U+FFFF two of these), invalid UTF-8 as \xff. Newlines and tabs are kept. Other text is returned unchanged, and a
// second call changes nothing.
func Visible(s string) string {
	if n := fine(s); n < len(s) {
		return string(appendVisible(append(make([]byte, 0, len(s)+16), s[:n]...), s[n:], invalidByte))
	}
	return s
}

// AppendJSON appends JSON to dst, with hidden characters in its strings escaped: encoding/json escapes only C0, U+2028
// and U+2029. The decoded value is the same.
func AppendJSON(dst, text []byte) []byte {
	n := fine(text)
	dst = append(dst, text[:n]...)
	if n < len(text) {
		dst = appendVisible(dst, text[n:], invalidJSON)
	}
	return dst
}

// JSON returns the result of AppendJSON on an empty slice; text itself if nothing must be escaped.
func JSON(text []byte) []byte {
	if fine(text) == len(text) {
		return text
	}
	return AppendJSON(make([]byte, 0, len(text)+16), text)
}

// Line returns foreign text as one line: line breaks and tabs become spaces, and runs of white space become one. The
// rest is escaped as in Visible.
func Line(s string) string {
	if fine(s) == len(s) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	if strings.ContainsAny(s, "\n\t\r\v\f") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return Visible(s)
}

// fine returns the length of s's beginning that is plain ASCII, including newlines and tabs.
func fine[T ~string | ~[]byte](s T) int {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return i
		}
	}
	return len(s)
}

// The replacement of a byte that is not UTF-8: in text it is shown, in JSON it is the decoders' replacement.
const (
	invalidByte = `\x`
	invalidJSON = `\ufffd`
)

func appendVisible[T ~string | ~[]byte](dst []byte, s T, invalid string) []byte {
	var marks Marks
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' {
			dst, marks, i = append(dst, c), 0, i+1
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		switch {
		case r == utf8.RuneError && n == 1:
			if dst = append(dst, invalid...); invalid == invalidByte {
				dst = append(dst, hexDigits[s[i]>>4], hexDigits[s[i]&15])
			}
		case Hidden(r) || marks.Over(r):
			dst = appendEscape(dst, r)
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendEscape appends a character escaped as in JSON.
func appendEscape(dst []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return appendEscape(appendEscape(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// Writer writes the result of Visible for its input. It is for text, and for JSON. Its Write returns len(p), although more may be
// written; an incomplete character waits for its rest.
func Writer(w io.Writer) io.Writer { return &writer{to: w} }

type writer struct {
	to   io.Writer
	rest []byte
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
	}
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
		}
	}
	out := text[:whole]
	if n := fine(out); n < whole {
		out = appendVisible(append(make([]byte, 0, whole+16), out[:n]...), out[n:], invalidByte)
	}
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

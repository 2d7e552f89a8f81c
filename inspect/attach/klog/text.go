package klog

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// ParseText reads an entry of text, with its further lines; ok is false where it does not begin with a header.
func ParseText(text string, c *Clock) (e Entry, ok bool) {
	if len(text) > MaxEntry {
		text, e.Cut = text[:MaxEntry], true
	}
	h, body, ok := parseHeader(text)
	if !ok {
		return Entry{}, false
	}
	e.Time, e.Severity, e.PID, e.File, e.Line, e.V = c.at(h.stamp), h.severity, h.pid, h.file, h.line, -1
	body = unfold(strings.TrimRight(body, "\r\n"))
	msg, rest, quoted := unquote(body)
	if !quoted || rest != "" && rest[0] != ' ' {
		e.Msg, e.Free = body, true
		if strings.HasPrefix(body, `"`) && !quoted { // it ends within its message
			e.Msg, e.Free, e.Cut = msg, false, true
		}
	} else {
		e.Msg = msg
		e.fields(rest)
	}
	e.clean()
	return e, true
}

// fields reads key=value pairs.
func (e *Entry) fields(s string) {
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		name, text, found := key(s)
		if !found || len(e.Fields) == maxFields {
			e.Cut = true
			return
		}
		v, rest, whole := value(text)
		e.Cut = e.Cut || !whole
		if name == "logger" {
			e.Logger = v
		} else {
			e.Fields = append(e.Fields, Field{name, v})
		}
		s = rest
	}
}

// maxKey bounds the length of a key.
const maxKey = 256

// key reads a key and its "=". A key with odd characters is quoted.
func key(s string) (k, rest string, ok bool) {
	if s[0] == '"' {
		k, rest, ok = unquote(s)
		rest, eq := strings.CutPrefix(rest, "=")
		return k, rest, ok && eq
	}
	k, rest, ok = strings.Cut(s, "=")
	return k, rest, ok && k != "" && len(k) <= maxKey && !strings.ContainsAny(k, " \t\n")
}

// value1 reads one value; whole is false where the text ends within it.
func value(s string) (v, rest string, whole bool) {
	switch {
	case s == "":
		return "", "", true
	case s[0] == '"':
		return unquote(s)
	case strings.HasPrefix(s, "<\n"):
		return lines(s[2:])
	case strings.IndexByte("[{", s[0]) >= 0:
		n, whole := bracket(s)
		return object(s[:n]), s[n:], whole
	case strings.HasPrefix(s, "&{"):
		n, whole := bracket(s[1:])
		return s[:n+1], s[n+1:], whole
	}
	if n := strings.IndexAny(s, " \n"); n >= 0 {
		return s[:n], s[n:], true
	}
	return s, "", true
}

// lines reads a value of several lines: each begins with a tab, and " >" ends it.
func lines(s string) (v, rest string, whole bool) {
	var b strings.Builder
	for s != "" {
		line, after, _ := strings.Cut(s, "\n")
		if tail, end := strings.CutPrefix(line, " >"); end && (tail == "" || tail[0] == ' ') {
			return strings.TrimSuffix(b.String(), "\n"), s[len(" >"):], true
		}
		b.WriteString(strings.TrimPrefix(line, "\t"))
		b.WriteByte('\n')
		s = after
	}
	return strings.TrimSuffix(b.String(), "\n"), "", false
}

// bracket returns how long a text in brackets is, strings in quotes taken whole. whole is false where it ends before the last bracket, or
// has too many in each other.
func bracket(s string) (n int, whole bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return len(s), false
			}
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '"':
			end := quoteEnd(s[i:])
			if end < 0 {
				return len(s), false
			}
			i += end - 1
		}
	}
	return len(s), false
}

// clean writes out what could act on a terminal.
func (e *Entry) clean() {
	e.Msg, e.Logger, e.File = human.Visible(e.Msg), human.Visible(e.Logger), human.Visible(e.File)
	for i := range e.Fields {
		e.Fields[i].Key, e.Fields[i].Value = human.Visible(e.Fields[i].Key), human.Visible(e.Fields[i].Value)
	}
}

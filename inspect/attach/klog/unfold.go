package klog

import "strings"

// unfold takes out the ends of lines that a terminal made within an entry with keys, at its width: klog itself writes none, but in values of
// several lines. What is no part of the entry, as what somebody wrote below it, is left as it is.
func unfold(s string) string {
	if !strings.HasPrefix(s, `"`) || strings.IndexByte(s, '\n') < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		n := strings.IndexAny(s, "\"\n")
		if n < 0 {
			break
		}
		if s[n] == '"' {
			b.WriteString(s[:n])
			text, rest, ok := unfoldQuoted(s[n:])
			if !ok {
				s = s[n:]
				break
			}
			b.WriteString(text)
			s = rest
			continue
		}
		b.WriteString(s[:n])
		if strings.HasSuffix(b.String(), "=<") {
			_, rest, _ := lines(s[n+1:])
			b.WriteString(s[n : len(s)-len(rest)])
			s = rest
			continue
		}
		between, ok := folded(b.String(), s[n+1:])
		if !ok {
			s = s[n:]
			break
		}
		b.WriteString(between)
		s = s[n+1:]
	}
	b.WriteString(s)
	return b.String()
}

// unfoldQuoted is the quoted string that a text begins with, without ends of lines; ok is false where it does not end.
func unfoldQuoted(s string) (text, rest string, ok bool) {
	var b strings.Builder
	b.WriteByte('"')
	escaped := false
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			continue
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			b.WriteByte(c)
			return b.String(), s[i+1:], true
		}
		b.WriteByte(s[i])
	}
	return "", s, false
}

// folded reports whether an entry that was read up to before goes on in the next line, and what belongs between the two.
func folded(before, next string) (between string, ok bool) {
	token := before[strings.LastIndexByte(before, ' ')+1:]
	spaced := strings.HasPrefix(next, " ")
	first, _, _ := strings.Cut(strings.TrimLeft(next, " "), "\n")
	first, _, _ = strings.Cut(first, " ")
	name, _, isKey := strings.Cut(first, "=")
	isKey = isKey && (name == "" || isName(name))
	switch {
	case spaced:
		return "", isKey && name != ""
	case strings.HasSuffix(token, "="):
		return "", first != ""
	case strings.HasSuffix(token, `"`) || strings.HasSuffix(token, "]") || strings.HasSuffix(token, "}"):
		return " ", isKey && name != ""
	case !strings.Contains(token, "="): // within a key, or between two
		return "", isKey && (token == "" || isName(token))
	case isKey && name != "":
		return " ", true
	}
	// Within a value without quotes, as a UID.
	return "", first != "" && strings.Trim(first, "0123456789abcdef-") == ""
}

// isName reports whether a text can be a key.
func isName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' {
			return false
		}
	}
	return s != ""
}

package klog

import (
	"strconv"
	"strings"
)

// quoteEnd returns how long the quoted string is that a text begins with; -1 where it has no end.
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return -1
		}
	}
	return -1
}

// unquote reads the Go-quoted string that a text begins with. Of one without end it returns what there is.
func unquote(s string) (v, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", s, false
	}
	n := quoteEnd(s)
	if n < 0 {
		cut, rest, more := strings.Cut(s, "\n")
		if more {
			rest = "\n" + rest
		}
		return unescape(cut[1:]), rest, false
	}
	if strings.IndexByte(s[:n], '\\') < 0 {
		return s[1 : n-1], s[n:], true
	}
	if v, err := strconv.Unquote(s[:n]); err == nil {
		return v, s[n:], true
	}
	return unescape(s[1 : n-1]), s[n:], true
}

// unescape resolves the commonest escapes of a string that is cut or not quite Go's.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t").Replace(s)
}

package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

const (
	// MinText is the minimum length, in bytes, of a secret for which texts are searched.
	MinText = 4
	// minInside is the length from which it is found within a word too.
	minInside = 8
	// maxValue is the length of the part of a value for which texts are searched; text that follows a match is treated as the rest
	// of the value.
	maxValue = 4 << 10
	// maxShort is the maximum length of a value whose rare spellings are searched for; for one line, such as a token, it is
	// maxToken.
	maxShort = 512
	maxToken = 2 << 10
	// maxLines is the number of lines of a value that are searched for one by one.
	maxLines = 256
)

// spellings are a value as texts may have it: as it is, without the space around it, its lines, quoted as Go and as
// JSON do it, as parts of URLs have it, and in base64. Of short ones also what is rarer: quoted twice or by a shell, as a
// part of what is in base64, and in hexadecimal.
func spellings(value string) []string {
	out := []string{head(value)}
	add := func(list ...string) {
		for _, s := range list {
			if s != "" && s != value {
				out = append(out, s)
			}
		}
	}
	text := strings.TrimSpace(value)
	if text == "" {
		return nil
	}
	add(head(text))
	n := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= minInside && n < maxLines {
			add(head(line))
			n++
		}
	}
	for _, s := range []string{value, text} {
		s = head(s)
		// Without padding: with it, the text begins the same way.
		add(base64.RawStdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)))
		add(strings.NewReplacer("\n", " ", "\r", "").Replace(s))
		add(quoted(s)...)
		if short(s) {
			add(withinBase64(s)...)
			for _, once := range quoted(s) {
				add(quoted(once)...) // an error that quotes one that quotes it
			}
			add(url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:], strings.ReplaceAll(s, "'", `'\''`))
			add(hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))))
		}
	}
	if short(text) {
		for _, s := range segments(text) {
			add(s)
			add(withinBase64(s)...)
		}
	}
	return out
}

// quoted is a text within quotes, as Go and as JSON have it.
func quoted(s string) []string {
	out := []string{inner(strconv.Quote(s))}
	if p, err := json.Marshal(s); err == nil {
		out = append(out, inner(string(p)))
	}
	return out
}

func short(s string) bool {
	return len(s) <= maxShort || len(s) <= maxToken && !strings.Contains(s, "\n")
}

func inner(s string) string { return s[1 : len(s)-1] }

// withinBase64 is a text as a part of what was encoded, as of user:password. It may begin at any of three places of what
// four characters stand for; its first and last characters, which are shared with what is beside it, are left out.
func withinBase64(s string) (out []string) {
	if len(s) < minInside {
		return nil
	}
	for from := range 3 {
		whole := []byte(s[from : from+(len(s)-from)/3*3])
		out = append(out, base64.StdEncoding.EncodeToString(whole), base64.URLEncoding.EncodeToString(whole))
	}
	return out
}

// segments are the parts of a line that no quoting changes: who quotes in a way of its own changes what is between them.
func segments(line string) (out []string) {
	if strings.Contains(line, "\n") { // a file: its words are no secrets
		return nil
	}
	for _, s := range strings.FieldsFunc(line, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("\"\\'`<>&$%", r) }) {
		if len(s) >= distinct {
			out = append(out, s)
		}
	}
	return out
}

func head(s string) string { return s[:min(len(s), maxValue)] }

// wordsIn tells which of the values text has, less the space around them; short ones as words of their own. It takes a time that is
// linear in the text: of values that begin alike no more than maxAlike are looked for.
func wordsIn(text string, values []string) map[string]bool {
	short, long := map[string]bool{}, map[uint64][]string{}
	for _, v := range values {
		switch v = strings.TrimSpace(v); {
		case len(v) < minInside:
			short[v] = true
		case len(long[key(v)]) < maxAlike:
			long[key(v)] = append(long[key(v)], v)
		}
	}
	said := map[string]bool{}
	for i := range len(text) {
		if i+minInside <= len(text) && len(long) > 0 {
			for _, v := range long[key(text[i:])] {
				if !said[v] && strings.HasPrefix(text[i:], v) {
					said[v] = true
				}
			}
		}
		if len(short) == 0 || i > 0 && wordByte(text[i-1]) {
			continue
		}
		for l := 1; l < minInside && i+l <= len(text); l++ {
			if short[text[i:i+l]] && alone(text, i, i+l) {
				said[text[i:i+l]] = true
			}
		}
	}
	return said
}

// alone reports whether text[from:to] has no letter or digit beside it.
func alone(text string, from, to int) bool {
	return (from == 0 || !wordByte(text[from-1])) && (to == len(text) || !wordByte(text[to]))
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

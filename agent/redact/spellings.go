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
	// minInside is the length from which a secret is also found within a word.
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

// spellings returns the forms of a value in texts: the value itself, without surrounding space, its lines, quoted as in
// Go and in JSON, as parts of URLs, and in base64. For short values also rare forms: quoted twice or by a shell, as a
// part of base64, and in hexadecimal.
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
	both := []string{value, text}
	if text == value {
		both = both[:1]
	}
	for _, s := range both {
		s = head(s)
		// Without padding: the text with padding begins the same way.
		add(base64.RawStdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)))
		if !plain(s) {
			add(changed(s)...)
		}
		if short(s) {
			add(withinBase64(s)...)
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

// changed returns a text as quotes and URLs change it.
func changed(s string) []string {
	out := append([]string{strings.NewReplacer("\n", " ", "\r", "").Replace(s)}, quoted(s)...)
	if !short(s) {
		return out
	}
	for _, once := range quoted(s) {
		out = append(out, quoted(once)...) // an error that quotes another error that quotes it
	}
	return append(out, url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:], strings.ReplaceAll(s, "'", `'\''`))
}

// plain reports whether neither quotes nor URLs change a text, such as a token.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' || r == '.')
	})
}

// quoted returns a text in quotes, as in Go and in JSON.
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

// withinBase64 returns a text as a part of an encoded text, for example of user:password. It may begin at any of three
// positions in a group of four characters. Its first and last characters, which also encode neighboring bytes, are
// omitted.
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

// segments returns the parts of a line that no quoting changes: unknown forms of quoting change only the characters
// between them.
func segments(line string) (out []string) {
	if strings.Contains(line, "\n") { // a file: its words are not secret
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

// wordsIn returns which of the values text contains, without surrounding space; short ones only as whole words. It
// takes linear time: of values with the same beginning, it searches at most maxAlike.
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

// alone reports whether no letter or digit is next to text[from:to].
func alone(text string, from, to int) bool {
	return (from == 0 || !wordByte(text[from-1])) && (to == len(text) || !wordByte(text[to]))
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

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
	// MinText is the length in bytes from which a secret is looked for in texts.
	MinText = 4
	// minInside is the length from which it is found within a word too.
	minInside = 8
	// maxValue is how much of a value is looked for; what follows it is taken to be more of the same.
	maxValue = 4 << 10
	// maxShort is the length up to which rarer spellings are looked for.
	maxShort = 512
	// maxLines is how many lines of a value are looked for one by one.
	maxLines = 256
)

// spellings are a value as texts may have it: as it is, without the space around it, its lines, quoted as Go and as
// JSON do it, as parts of URLs have it, in base64 and in hexadecimal.
func spellings(value string) []string {
	out := []string{head(value)}
	add := func(s string) {
		if s != "" && s != value {
			out = append(out, s)
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
		add(base64.RawStdEncoding.EncodeToString([]byte(s)))
		add(base64.RawURLEncoding.EncodeToString([]byte(s)))
		if quoted, err := json.Marshal(s); err == nil {
			add(strings.Trim(string(quoted), `"`))
		}
		quoted := strconv.Quote(s)
		add(quoted[1 : len(quoted)-1])
		add(strings.NewReplacer("\n", " ", "\r", "").Replace(s))
		if len(s) <= maxShort {
			add(url.QueryEscape(s))
			add(url.PathEscape(s))
			add(url.UserPassword("", s).String()[1:])
			add(hex.EncodeToString([]byte(s)))
			add(strings.ToUpper(hex.EncodeToString([]byte(s))))
		}
	}
	return out
}

func head(s string) string { return s[:min(len(s), maxValue)] }

// hasWord reports whether text has s; when s is short, as a word of its own.
func hasWord(text, s string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return false
		}
		at := from + i
		if len(s) >= minInside || alone(text, at, at+len(s)) {
			return true
		}
		from = at + 1
	}
}

// alone reports whether text[from:to] has no letter or digit beside it.
func alone(text string, from, to int) bool {
	return (from == 0 || !wordByte(text[from-1])) && (to == len(text) || !wordByte(text[to]))
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

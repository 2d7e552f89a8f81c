package export

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// escape makes text for XML and HTML, in elements and attributes alike.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(human.Line(s))) // a Builder does not fail
	return b.String()
}

// cut keeps s to n characters, with an ellipsis where anything was cut.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:max(n-1, 0)]) + "…"
}

// wrap breaks s at spaces into lines of at most n characters.
func wrap(s string, n int) []string {
	var lines []string
	cur := ""
	for word := range strings.FieldsSeq(s) {
		word = cut(word, n)
		switch {
		case cur == "":
			cur = word
		case utf8.RuneCountInString(cur)+1+utf8.RuneCountInString(word) > n:
			lines, cur = append(lines, cur), word
		default:
			cur += " " + word
		}
	}
	if cur != "" {
		lines = append(lines, cur)
	}
	return lines
}

func write(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

package why

import (
	"strings"
	"unicode/utf8"
)

// wrap breaks text at spaces into lines of at most width columns; words that are longer are broken. There is at least one line.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		for {
			room := width - utf8.RuneCountInString(line)
			if line != "" {
				room--
			}
			if n := utf8.RuneCountInString(word); n <= room {
				break
			} else if line != "" && n <= width {
				lines, line = append(lines, line), ""
				continue
			}
			if line != "" && room < width/2 {
				lines, line = append(lines, line), ""
				continue
			}
			head := string([]rune(word)[:room])
			word = word[len(head):]
			lines, line = append(lines, strings.TrimSpace(line+" "+head)), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// cut shortens a line to width columns; dots say that it was longer.
func cut(s string, width int) string {
	lead := strings.HasPrefix(s, "\n") // an empty line before
	if lead {
		return "\n" + cut(s[1:], width)
	}
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(width-3, 0)]) + "..."
}

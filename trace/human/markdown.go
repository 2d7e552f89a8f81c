package human

import "strings"

// Markdown escapes markup in text. Backslashes work before all of these characters, also in tables.
func Markdown(s string) string {
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(Line(s))
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]#|~@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

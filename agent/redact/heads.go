package redact

// heads tells at which positions of a text no spelling begins, by two bytes: most positions need no other comparison.
type heads struct{ first, second [256]bool }

func (h *heads) add(s string) { h.first[s[0]], h.second[s[1]] = true, true }

// has reports whether a spelling may begin with these two bytes.
func (h *heads) has(text string) bool { return h.first[text[0]] && h.second[text[1]] }

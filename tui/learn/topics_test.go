package learn

import (
	"slices"
	"strings"
	"testing"
)

// TestNames: each lesson has one name, that a user can type, and each alias leads to one.
func TestNames(t *testing.T) {
	all := Topics()
	has := func(name string) bool { return slices.ContainsFunc(all, func(l Topic) bool { return l.Name == name }) }
	for i, l := range all {
		if l.Title == "" || l.Text == "" || l.Read == "" {
			t.Errorf("%q lacks something: %+v", l.Name, l.Lesson)
		}
		if strings.ContainsAny(l.Name, " \t") || i > 0 && strings.EqualFold(all[i-1].Name, l.Name) {
			t.Errorf("%q is no name, or is there twice", l.Name)
		}
	}
	for _, name := range []string{"pleg", "sandbox", "image", "cni", "wait-backoff", "readiness-probe", "ImageStatus"} {
		if !has(name) {
			t.Errorf("no topic %s", name)
		}
	}
	for alias, name := range Aliases() {
		if !has(name) || has(alias) {
			t.Errorf("alias %s of %s: the topic is missing, or has the alias as its name", alias, name)
		}
	}
	for verb, l := range verbs {
		if !slices.ContainsFunc(all, func(t Topic) bool { return t.Lesson == l }) {
			t.Errorf("no topic has the lesson about %s", verb)
		}
	}
}

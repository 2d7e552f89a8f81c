// Package pattern holds regular expressions that are compiled when they are first used. The observers of logs have about a hundred; compiling
// them took a third of the time of each command that reads no log.
//
// A pattern is a constant of the program: one that does not compile panics at its first use; a test compiles all of them.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. Its methods are those of [regexp.Regexp]. Safe for concurrent use.
type Pattern struct{ get func() *regexp.Regexp }

// New returns an expression that is not compiled yet.
func New(expr string) *Pattern {
	return &Pattern{get: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// FindStringSubmatch returns the first match and its groups; nil if there is none.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.get().FindStringSubmatch(s) }

// FindAllStringSubmatch returns at most n matches with their groups, all if n < 0.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}

// FindAllString returns at most n matches, all if n < 0.
func (p *Pattern) FindAllString(s string, n int) []string { return p.get().FindAllString(s, n) }

// FindString returns the first match; "" if there is none.
func (p *Pattern) FindString(s string) string { return p.get().FindString(s) }

// MatchString reports whether s has a match.
func (p *Pattern) MatchString(s string) bool { return p.get().MatchString(s) }

// ReplaceAllString replaces all matches.
func (p *Pattern) ReplaceAllString(s, with string) string { return p.get().ReplaceAllString(s, with) }

package tui

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// compile makes a filter of what was typed. Without a capital letter it ignores
// case. The error says in words what is wrong.
func compile(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	expr := text
	if !strings.ContainsFunc(text, unicode.IsUpper) {
		expr = "(?i)" + text
	}
	re, err := regexp.Compile(expr)
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, errors.New("not a regular expression: " + bad.Code.String() + ": " + strings.TrimPrefix(bad.Expr, "(?i)"))
	}
	return re, err
}

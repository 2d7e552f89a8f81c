package query

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// maxProgram bounds how many instructions a regular expression may have: a short text can make a long program, as x{1000}.
const maxProgram = 10_000

// expression compiles a regular expression. Without a capital letter it ignores case.
func expression(s string) (*regexp.Regexp, error) {
	expr := s
	if !strings.ContainsFunc(s, unicode.IsUpper) {
		expr = "(?i)" + s
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, errors.New("not a regular expression: " + bad.Code.String() + ": " + strings.TrimPrefix(bad.Expr, "(?i)"))
	}
	if err != nil {
		return nil, fmt.Errorf("not a regular expression: %w", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("not a regular expression: %w", err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, errors.New("the regular expression repeats too much: want smaller numbers in {}")
	}
	return regexp.Compile(expr)
}

// looksLikeOne reports whether a word is meant as a regular expression, as k9s takes all.
func looksLikeOne(w string) bool {
	return strings.HasPrefix(w, "^") || strings.HasSuffix(w, "$") || strings.Contains(w, ".*") || strings.Contains(w, "|")
}

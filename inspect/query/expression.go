package query

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// maxProgram is the maximum number of instructions of a regular expression: a short text, such as x{1000}, can result
// in a long program.
const maxProgram = 10_000

// expression compiles a regular expression. It ignores case unless there is a capital letter.
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

// looksLikeOne reports whether a word is meant as a regular expression, which k9s assumes of all words.
func looksLikeOne(w string) bool {
	return strings.HasPrefix(w, "^") || strings.HasSuffix(w, "$") || strings.Contains(w, ".*") || strings.Contains(w, "|")
}

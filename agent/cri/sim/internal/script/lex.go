package script

import (
	"errors"
	"strings"
)

type tokenKind int

const (
	tokEOF tokenKind = iota
	tokWord
	tokOp
	tokRedirect
)

type token struct {
	kind tokenKind
	text string // a word keeps its quotes
	fd   int    // of a redirection
}

// lex splits a script into words, operators and redirections.
func lex(src string) ([]token, error) {
	var tokens []token
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '\\' && strings.HasPrefix(src[i+1:], "\n"):
			i += 2
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case (c == '1' || c == '2') && strings.HasPrefix(src[i+1:], ">"):
			n, ts := lexRedirect(src[i+1:], int(c-'0'))
			tokens = append(tokens, ts...)
			i += 1 + n
		case c == '>' || c == '<':
			n, ts := lexRedirect(src[i:], 1)
			tokens = append(tokens, ts...)
			i += n
		case strings.HasPrefix(src[i:], "&&") || strings.HasPrefix(src[i:], "||"):
			tokens = append(tokens, token{kind: tokOp, text: src[i : i+2]})
			i += 2
		case strings.IndexByte(";&|()\n", c) >= 0:
			tokens = append(tokens, token{kind: tokOp, text: string(c)})
			i++
		default:
			n, err := wordEnd(src[i:])
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{kind: tokWord, text: src[i : i+n]})
			i += n
		}
	}
	return append(tokens, token{kind: tokEOF, text: "end of script"}), nil
}

// lexRedirect reads >, >>, < or <<. The target of >&1 and >&2 comes along as a word.
func lexRedirect(src string, fd int) (int, []token) {
	n := 1
	if len(src) > 1 && src[1] == src[0] {
		n = 2
	}
	ts := []token{{kind: tokRedirect, text: src[:n], fd: fd}}
	if strings.HasPrefix(src[n:], "&1") || strings.HasPrefix(src[n:], "&2") {
		ts = append(ts, token{kind: tokWord, text: src[n : n+2]})
		n += 2
	}
	return n, ts
}

// wordEnd returns the length of the word that src begins with.
func wordEnd(src string) (int, error) {
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '\\':
			i += 2
		case c == '\'' || c == '"' || c == '`' || strings.HasPrefix(src[i:], "$("):
			n, err := spanEnd(src[i:])
			if err != nil {
				return 0, err
			}
			i += n
		case strings.IndexByte(" \t\r\n;&|()<>", c) >= 0:
			return i, nil
		default:
			i++
		}
	}
	return len(src), nil
}

// spanEnd returns the length of the quoted span or substitution that src begins with.
func spanEnd(src string) (int, error) {
	quote, i := src[0], 1
	if quote == '$' {
		i = 2
	}
	for i < len(src) {
		c := src[i]
		switch {
		case quote != '$' && c == quote:
			return i + 1, nil
		case quote == '$' && c == ')':
			return i + 1, nil
		case c == '\\' && quote != '\'':
			i += 2
		case quote != '\'' && quote != '`' && (strings.HasPrefix(src[i:], "$(") || c == '`'),
			quote == '$' && (c == '\'' || c == '"'):
			n, err := spanEnd(src[i:])
			if err != nil {
				return 0, err
			}
			i += n
		case quote == '$' && c == '(':
			n, err := spanEnd("$" + src[i:])
			if err != nil {
				return 0, err
			}
			i += n - 1
		default:
			i++
		}
	}
	return 0, errors.New("unterminated quote or substitution")
}

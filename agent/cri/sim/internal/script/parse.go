package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxScript limits the length of a script, in bytes: for nested code, the parser needs 2 KiB of stack per byte.
	maxScript = 32 << 10
	// maxPattern limits the length of a pattern of ${name%pattern}, in bytes: matching takes time for each byte of it
	// and of the value.
	maxPattern = 100
)

// errUnsupported marks syntax that a shell accepts and this package does not.
var errUnsupported = errors.New("not simulated")

func unsupported(what string) error { return fmt.Errorf("%s: %w", what, errUnsupported) }

// parse parses a script. Nothing changes the result later: background jobs share it. The author of the pod wrote the
// script. The error is errUnsupported for syntax of other shells, and for what is not simulated.
func parse(src string) ([]*syntax.Stmt, error) {
	if len(src) > maxScript {
		return nil, unsupported(fmt.Sprintf("more than %d bytes", maxScript))
	}
	src = strings.ToValidUTF8(src, "\ufffd")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(src), "")
	if err != nil {
		if _, bash := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), ""); bash == nil {
			return nil, unsupported(err.Error())
		}
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			w.Parts = quoted(w.Parts)
		}
		return true
	})
	return file.Stmts, check(file.Stmts)
}

// quoted converts backslashes to quoted parts, because package expand keeps them in assignments, and quotes braces,
// because package expand expands them, which a POSIX shell does not.
func quoted(parts []syntax.WordPart) []syntax.WordPart {
	var out []syntax.WordPart
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			out = append(out, part)
			continue
		}
		for s := lit.Value; s != ""; {
			i := strings.IndexAny(s, `\{`)
			if i < 0 {
				i = len(s)
			}
			if i > 0 {
				out = append(out, &syntax.Lit{Value: s[:i]})
				s = s[i:]
				continue
			}
			if s[0] == '\\' && len(s) > 1 {
				s = s[1:]
			}
			char := string([]rune(s)[:1])
			out = append(out, &syntax.SglQuoted{Value: char})
			s = s[len(char):]
		}
	}
	return out
}

// check returns an error for commands that are not simulated. Commands in $(...) are checked when they run.
func check(stmts []*syntax.Stmt) error {
	var err error
	for _, st := range stmts {
		syntax.Walk(st, func(n syntax.Node) bool {
			if _, ok := n.(*syntax.CmdSubst); ok || err != nil {
				return false
			}
			err = checkNode(n)
			return err == nil
		})
	}
	return err
}

func checkNode(n syntax.Node) error {
	switch n := n.(type) {
	case *syntax.BinaryCmd:
		if n.Op != syntax.AndStmt && n.Op != syntax.OrStmt {
			return unsupported(n.Op.String())
		}
	case *syntax.CallExpr, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause: // run supports them
	case *syntax.Subshell:
		return unsupported("( )")
	case *syntax.CaseClause:
		return unsupported("case")
	case *syntax.FuncDecl:
		return unsupported("a function")
	case syntax.Command:
		return unsupported(fmt.Sprintf("%T", n))
	case *syntax.Redirect:
		return checkRedirect(n)
	case *syntax.ParamExp:
		return checkParameter(n)
	}
	return nil
}

func checkRedirect(r *syntax.Redirect) error {
	if r.N != nil && !slices.Contains([]string{"0", "1", "2"}, r.N.Value) {
		return unsupported("file descriptor " + r.N.Value)
	}
	known := []syntax.RedirOperator{syntax.RdrOut, syntax.RdrClob, syntax.AppOut, syntax.RdrIn, syntax.DplIn}
	to := r.Word.Lit()
	if slices.Contains(known, r.Op) || r.Op == syntax.DplOut && (to == "1" || to == "2" || to == "-") {
		return nil
	}
	return unsupported(r.Op.String())
}

func checkParameter(p *syntax.ParamExp) error {
	removes := []syntax.ParExpOperator{syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix}
	if p.Exp == nil || !slices.Contains(removes, p.Exp.Op) {
		return nil
	}
	size := 0
	if p.Exp.Word != nil {
		for _, part := range p.Exp.Word.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
				size += len(part.Value)
			case *syntax.SglQuoted:
				size += len(part.Value)
			default:
				return unsupported("a nested pattern in ${" + p.Param.Value + p.Exp.Op.String() + "}")
			}
		}
	}
	if size > maxPattern {
		return unsupported(fmt.Sprintf("a pattern of more than %d bytes", maxPattern))
	}
	return nil
}

package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// constant lists the functions whose results are as good as constants.
var constant = []string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "strings.NewReplacer"}

// checkGlobals returns what is wrong with the package-level declarations of a
// package that may have no state: an init function; a variable that is neither
// an error, nor embedded, nor a table written out in the source; a table that
// is changed later.
func checkGlobals(p pkg) []string {
	var wrong []string
	say := func(pos token.Pos, format string, args ...any) {
		at := p.fset.Position(pos)
		wrong = append(wrong, fmt.Sprintf("%s:%d: ", fileAt(p, pos), at.Line)+fmt.Sprintf(format, args...))
	}
	var files []*ast.File
	for _, f := range p.files {
		if f.isTest {
			continue
		}
		files = append(files, f.ast)
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					say(d.Pos(), "init function")
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					checkVars(d, say)
				}
			}
		}
	}
	checkWrites(p.fset, files, say)
	return wrong
}

// checkVars says which variables of a declaration are state.
func checkVars(d *ast.GenDecl, say func(token.Pos, string, ...any)) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || embedded(d.Doc) || embedded(v.Doc) {
			continue
		}
		for i, name := range v.Names {
			switch {
			case name.Name == "_":
			case len(v.Values) != len(v.Names):
				say(name.Pos(), "%s is a global without a constant value", name.Name)
			case !isConstant(v.Values[i]):
				say(name.Pos(), "%s is a mutable global", name.Name)
			}
		}
	}
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// isConstant says whether an expression is an error, a pattern, or a table
// written out.
func isConstant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return slices.Contains(constant, types.ExprString(e.Fun))
	case *ast.CompositeLit:
		return true
	case *ast.BasicLit:
		return true
	}
	return false
}

// checkWrites says where package-level variables are written, or lent for
// writing by the address operator.
func checkWrites(fset *token.FileSet, files []*ast.File, say func(token.Pos, string, ...any)) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Imports stay unresolved and platforms redeclare each other's names: the
	// errors do not matter, a package's own names are found all the same.
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	tpkg, err := conf.Check("p", fset, files, info)
	if err != nil && tpkg == nil {
		return
	}
	written := func(e ast.Expr) {
		id := root(e)
		if id == nil {
			return
		}
		if v, ok := info.Uses[id].(*types.Var); ok && v.Parent() == tpkg.Scope() {
			say(id.Pos(), "writes the global %s", id.Name)
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, l := range n.Lhs {
						written(l)
					}
				}
			case *ast.IncDecStmt:
				written(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					written(n.X)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
					written(n.Args[0])
				}
			}
			return true
		})
	}
}

// root returns the variable that an expression is a part of.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func fileAt(p pkg, pos token.Pos) string {
	for _, f := range p.files {
		if f.ast.FileStart <= pos && pos < f.ast.FileEnd {
			return f.name
		}
	}
	return p.path
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not looked at")
}

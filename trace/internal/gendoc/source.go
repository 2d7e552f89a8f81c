package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// source has the doc comments.
type source struct {
	types  map[string]string            // doc by type
	fields map[string]map[string]string // doc by type and field
	consts map[string][]constant        // by type
}

type constant struct{ value, doc string }

func parse(dir string) (*source, error) {
	s := &source{types: map[string]string{}, fields: map[string]map[string]string{}, consts: map[string][]constant{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if f.Name.Name != "trace" {
			return nil, fmt.Errorf("%s is of package %s, want trace", e.Name(), f.Name.Name)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				s.declaration(g)
			}
		}
	}
	return s, nil
}

func (s *source) declaration(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.typeSpec(g, spec)
		case *ast.ValueSpec:
			s.valueSpec(spec)
		}
	}
}

func (s *source) typeSpec(g *ast.GenDecl, spec *ast.TypeSpec) {
	name := spec.Name.Name
	doc := spec.Doc
	if doc == nil {
		doc = g.Doc
	}
	s.types[name] = doc.Text()
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	s.fields[name] = map[string]string{}
	for _, f := range st.Fields.List {
		for _, id := range f.Names {
			s.fields[name][id.Name] = oneLine(f.Doc.Text() + " " + f.Comment.Text())
		}
	}
}

// numbered are types whose values are numbers, with the encoded names. The first constant has the type, the others
// follow.
var numbered = map[string][]string{"Observer": trace.Observers()}

func (s *source) valueSpec(spec *ast.ValueSpec) {
	for prefix, names := range numbered {
		if n := len(s.consts[prefix]); strings.HasPrefix(spec.Names[0].Name, prefix) && n < len(names) {
			s.consts[prefix] = append(s.consts[prefix], constant{names[n], oneLine(spec.Comment.Text())})
		}
	}
	id, ok := spec.Type.(*ast.Ident)
	if !ok || len(spec.Values) != 1 {
		return
	}
	if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s.consts[id.Name] = append(s.consts[id.Name], constant{strings.Trim(lit.Value, `"`), oneLine(spec.Comment.Text() + " " + spec.Doc.Text())})
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

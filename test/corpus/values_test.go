package corpus_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// producers are the directories whose code makes records. In trace itself, what reads the first schema's sentences makes none.
var producers = []string{"agent", "cmd/kubeloupe", "inspect/otlp", "inspect/attach", "inspect/control", "inspect/step", "trace"}

// value is a constant of a vocabulary of package trace.
type value struct{ typ, name, text string }

// TestEveryValueIsEmitted fails for a value of a vocabulary that no code emits, or that no test sees: in the recordings here, or by its name
// in a test. It cannot tell a test that sees a value emitted from one that gives it to a reader: a name in any _test.go file counts.
func TestEveryValueIsEmitted(t *testing.T) {
	values := vocabularies(t)
	if len(values) < 200 {
		t.Fatalf("found %d values, want 200 or more", len(values))
	}
	recorded := recordedValues(t)
	emitted, tested := uses(t, values)
	for _, v := range values {
		seen := recorded[v.typ][v.text]
		if !seen && !emitted[v.name] {
			t.Errorf("trace.%s (%q of %s): got no code that emits it, want some in %v", v.name, v.text, v.typ, producers)
		}
		if !seen && !tested[v.name] {
			t.Errorf("trace.%s (%q of %s): got no recording and no test that has it, want one", v.name, v.text, v.typ)
		}
	}
}

// vocabularies returns the typed constants of package trace that are texts.
func vocabularies(t *testing.T) (all []value) {
	walk(t, "../../trace", func(path string, f *ast.File) {
		if strings.HasSuffix(path, "_test.go") || filepath.Dir(path) != filepath.Clean("../../trace") {
			return
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.ValueSpec)
				typ, ok := spec.Type.(*ast.Ident)
				if !ok || len(spec.Values) != 1 || !spec.Names[0].IsExported() {
					continue
				}
				if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, value{typ.Name, spec.Names[0].Name, text})
				}
			}
		}
	})
	return all
}

// recordedValues returns the values in all recordings, by type.
func recordedValues(t *testing.T) map[string]map[string]bool {
	files, err := filepath.Glob("testdata/*/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	found := map[string]map[string]bool{}
	for _, file := range files {
		for _, i := range read(t, file) {
			valuesOf(reflect.ValueOf(i.rec.Event), found)
		}
	}
	return found
}

// valuesOf adds the values of all types of package trace that are texts.
func valuesOf(v reflect.Value, to map[string]map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			valuesOf(v.Elem(), to)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			valuesOf(field, to)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			valuesOf(v.Index(i), to)
		}
	case reflect.String:
		if typ := v.Type(); typ.PkgPath() == reflect.TypeFor[trace.Wait]().PkgPath() {
			if to[typ.Name()] == nil {
				to[typ.Name()] = map[string]bool{}
			}
			to[typ.Name()][v.String()] = true
		}
	}
}

// uses returns which values producers name, and which tests.
func uses(t *testing.T, values []value) (emitted, tested map[string]bool) {
	emitted, tested = map[string]bool{}, map[string]bool{}
	names := map[string]bool{}
	for _, v := range values {
		names[v.name] = true
	}
	aliases := map[string]string{} // of "package.Name" that is such a constant
	walk(t, "../..", func(_ string, f *ast.File) {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.ValueSpec)
				for i, v := range spec.Values {
					if sel, ok := v.(*ast.SelectorExpr); ok && names[sel.Sel.Name] && isName(sel.X, "trace") {
						aliases[f.Name.Name+"."+spec.Names[i].Name] = sel.Sel.Name
					}
				}
			}
		}
	})
	walk(t, "../..", func(path string, f *ast.File) {
		path = strings.TrimPrefix(filepath.ToSlash(path), "../../")
		to := tested
		if !strings.HasSuffix(path, "_test.go") {
			if !slices.ContainsFunc(producers, func(dir string) bool { return strings.HasPrefix(path, dir+"/") }) || path == "trace/v1.go" {
				return
			}
			to = emitted
		}
		pkg := strings.TrimSuffix(f.Name.Name, "_test")
		declares := map[*ast.Ident]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for _, id := range n.Names {
					declares[id] = true
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					if x.Name == "trace" && names[n.Sel.Name] {
						to[n.Sel.Name] = true
					} else if name, ok := aliases[x.Name+"."+n.Sel.Name]; ok {
						to[name] = true
					}
				}
			case *ast.Ident:
				if declares[n] {
					return true
				}
				if pkg == "trace" && names[n.Name] {
					to[n.Name] = true
				} else if name, ok := aliases[pkg+"."+n.Name]; ok {
					to[name] = true
				}
			}
			return true
		})
	})
	return emitted, tested
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// walk parses all Go files below a directory.
func walk(t *testing.T, root string, do func(path string, f *ast.File)) {
	fset := token.NewFileSet()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != "." && d.Name() != ".." || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		do(path, f)
	}
}

package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A pkg is a directory of Go files, for all platforms together.
type pkg struct {
	path  string // import path
	fset  *token.FileSet
	files []file
}

type file struct {
	name   string // relative to the module
	isTest bool
	ast    *ast.File
}

// load parses all packages of the module in root. It passes by what the go
// command passes by: nested modules, testdata, vendor, and names that begin
// with a dot or an underscore.
func load(root string) ([]pkg, error) {
	byDir := map[string]int{}
	var pkgs []pkg
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && skipDir(name) {
				return filepath.SkipDir
			}
			return nil
		}
		base := d.Name()
		if path.Ext(base) != ".go" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		dir := path.Dir(rel)
		i, ok := byDir[dir]
		if !ok {
			i = len(pkgs)
			byDir[dir] = i
			pkgs = append(pkgs, pkg{path: path.Join(module, dir), fset: token.NewFileSet()})
		}
		f, err := parser.ParseFile(pkgs[i].fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		pkgs[i].files = append(pkgs[i].files, file{name: rel, isTest: strings.HasSuffix(base, "_test.go"), ast: f})
		return nil
	})
	return pkgs, err
}

func skipDir(name string) bool {
	base := filepath.Base(name)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil
}

// imports returns the import paths of a file.
func (f file) imports() []string {
	var paths []string
	for _, s := range f.ast.Imports {
		if p, err := strconv.Unquote(s.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// checkComment returns what is wrong with the comment of a package, or the
// empty string. Packages of tests alone need none.
func checkComment(p pkg) string {
	product := false
	for _, f := range p.files {
		if f.isTest {
			continue
		}
		product = true
		if f.ast.Doc == nil {
			continue
		}
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command " + path.Base(p.path) + " "
		}
		if !strings.HasPrefix(f.ast.Doc.Text(), want) {
			return fmt.Sprintf("%s: the package comment should begin with %q", f.name, want)
		}
		return ""
	}
	if !product {
		return ""
	}
	return p.path + " has no package comment"
}

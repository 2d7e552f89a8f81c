package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// colorful are the packages with which a color can be named.
var colorful = []string{"charm.land/lipgloss/v2", "image/color", "github.com/lucasb-eyer/go-colorful"}

// checkColors returns where a file of the terminal UI names a color: only package tui/style may, which maps meanings to colors.
func checkColors(pkg string, f *ast.File) []string {
	if !within(pkg, module+"/tui") || within(pkg, module+"/tui/style") || within(pkg, module+"/tui/tuitest") {
		return nil
	}
	var wrong []string
	for _, i := range f.Imports {
		if path := strings.Trim(i.Path.Value, `"`); slices.ContainsFunc(colorful, func(c string) bool { return within(path, c) }) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: only tui/style names colors", pkg, path))
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && (strings.Contains(l.Value, `\x1b[`) || strings.Contains(l.Value, "\x1b[")) {
			wrong = append(wrong, fmt.Sprintf("%s writes the escape sequence %s: only tui/style does", pkg, l.Value))
		}
		return true
	})
	return wrong
}

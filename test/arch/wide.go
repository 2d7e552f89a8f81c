package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// mostFields is how many fields a struct has without a reason.
const mostFields = 20

// reasonOfMany begins the paragraph of a struct's comment that says why it has more.
const reasonOfMany = "Many fields: "

// checkWide says which structs have so many fields that they may be several, and give no reason for it. An embedded type is one field.
func checkWide(p pkg, f file) (wrong []string) {
	for _, d := range f.ast.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			t, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			st, ok := t.Type.(*ast.StructType)
			if !ok {
				continue
			}
			n := 0
			for _, field := range st.Fields.List {
				n += max(1, len(field.Names))
			}
			if n > mostFields && !reasoned(g.Doc) && !reasoned(t.Doc) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s has %d fields, %d at most without a reason: group them, or say why in a paragraph %q of its comment",
					f.name, p.fset.Position(t.Pos()).Line, t.Name.Name, n, mostFields, reasonOfMany+"..."))
			}
		}
	}
	return wrong
}

// reasoned reports whether a comment has the paragraph, with something in it.
func reasoned(doc *ast.CommentGroup) bool {
	for line := range strings.Lines(doc.Text()) {
		if why, ok := strings.CutPrefix(line, reasonOfMany); ok && strings.TrimSpace(why) != "" {
			return true
		}
	}
	return false
}

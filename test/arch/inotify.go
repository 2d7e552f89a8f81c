package arch

import (
	"fmt"
	"go/ast"
	"strings"
)

// checkInotify says where the agent speaks to inotify by itself: agent/inotify has its limits, its overflow and its format.
func checkInotify(name string, f *ast.File) (wrong []string) {
	if !strings.HasPrefix(name, "agent/") || strings.HasPrefix(name, "agent/inotify/") {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if use, ok := n.(*ast.SelectorExpr); ok {
			if call := nameOf(use); strings.HasPrefix(call, "unix.Inotify") || strings.HasPrefix(call, "syscall.Inotify") {
				wrong = append(wrong, fmt.Sprintf("%s: %s: watch by agent/inotify", name, call))
			}
		}
		return true
	})
	return wrong
}

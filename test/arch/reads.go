package arch

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"strings"
)

// wholeReads are the files that may use os.ReadFile, which has no limit, and who writes what they read.
var wholeReads = map[string]string{
	"agent/allocatable/machine.go":        "/proc and /sys: the kernel",
	"agent/cgroup/describe.go":            "cgroup files: the kernel; as many lines as a pod has processes",
	"agent/cgroup/detect.go":              "cgroup files: the kernel",
	"agent/cgroup/dirs.go":                "cgroup files: the kernel",
	"agent/cgroup/list.go":                "cgroup files: the kernel; as many lines as a pod has processes",
	"agent/cgroup/throttle.go":            "cgroup files: the kernel",
	"agent/host/host.go":                  "/proc: the kernel",
	"agent/volume/blockdev/loop_linux.go": "/sys: the kernel, of names that root gave",
	"inspect/snapshot/cgroup.go":          "cgroup files: the kernel; as many lines as a pod has processes",
	"inspect/snapshot/network.go":         "/proc and /sys: the kernel",
	"inspect/snapshot/process.go":         "/proc: the kernel; 16 bytes that the process chose",
	"trace/internal/gendoc/source.go":     "the module's own source",
	"trace/usage/read.go":                 "/proc: the kernel",
}

// limits are what io.ReadAll may read from: a name that is called.
var limits = map[string]bool{"io.LimitReader": true, "io.NewSectionReader": true, "http.MaxBytesReader": true}

// checkReads says which reads of a file have no limit: what is read may have been written by anybody.
func checkReads(name string, f *ast.File) (wrong []string) {
	name = filepath.ToSlash(name)
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch nameOf(call.Fun) {
		case "os.ReadFile", "ioutil.ReadFile":
			if wholeReads[name] == "" {
				wrong = append(wrong, fmt.Sprintf("%s: os.ReadFile has no limit: use wholefile.Read for what root writes, guestfile for what containers write, "+
					"or name the file in test/arch/reads.go, with who writes what it reads", name))
			}
		case "io.ReadAll", "ioutil.ReadAll":
			if from, ok := call.Args[0].(*ast.CallExpr); !ok || !limits[nameOf(from.Fun)] {
				wrong = append(wrong, name+": io.ReadAll of what has no limit: read through io.LimitReader, io.NewSectionReader or http.MaxBytesReader")
			}
		}
		return true
	})
	return wrong
}

// nameOf is a called function's name with its package, as os.ReadFile; "" for other calls.
func nameOf(fun ast.Expr) string {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return strings.Join([]string{pkg.Name, sel.Sel.Name}, ".")
}

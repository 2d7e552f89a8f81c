package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// listed is a package, or one together with its tests, as `go list` shows it.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	GoFiles         []string
	IgnoredGoFiles  []string // of other platforms
	Imports         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
	Error           *struct{ Err string }
}

// own is whether it is a package of the module that is checked.
func (p *listed) own() bool { return p.Module != nil && p.Module.Main }

// list returns the packages of the module at dir with their tests, and all that they import.
func list(dir, goos, arch string) ([]*listed, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-test", "-json=ImportPath,Dir,Standard,GoFiles,IgnoredGoFiles,Imports,ImportMap,Module,Error", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var all []*listed
	var errs []error
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return all, errors.Join(errs...)
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		switch {
		case strings.HasSuffix(p.ImportPath, ".test"): // the main package of a test, which go makes
		case p.Error != nil && (len(p.GoFiles) > 0 || len(p.IgnoredGoFiles) == 0):
			errs = append(errs, errors.New(p.Error.Err))
		default:
			all = append(all, p)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a fuzz function of a package.
type target struct {
	module, pkg string // as example.com/module and example.com/module/agent/logs
	name        string
}

// String is the target's short name, as agent/logs.FuzzTail.
func (t target) String() string {
	return strings.TrimPrefix(strings.TrimPrefix(t.pkg, t.module), "/") + "." + t.name
}

// goPackage is what go list tells of a package.
type goPackage struct {
	Dir, ImportPath           string
	Module                    struct{ Path string }
	TestGoFiles, XTestGoFiles []string
}

var declared = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// find returns the targets of this platform that match, in the order of their names. Nothing is compiled for that.
func find(ctx context.Context, match *regexp.Regexp) ([]target, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,ImportPath,Module,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []target
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			for _, m := range declared.FindAllSubmatch(text, -1) {
				if t := (target{p.Module.Path, p.ImportPath, string(m[1])}); match.MatchString(t.String()) {
					all = append(all, t)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

// result is what became of a target.
type result struct {
	took              time.Duration
	executions, fresh int
	failed            bool
	text              string
}

var (
	progress = regexp.MustCompile(`^fuzz: elapsed: .*execs: (\d+) .*new interesting: (\d+)`)
	written  = regexp.MustCompile(`^\s*Failing input written to (\S+)`)
)

// minimize is how often a new input is tried to be made smaller: the time goes into finding others.
const minimize = "20x"

// fuzz runs a target.
func (t target) fuzz(ctx context.Context, each time.Duration, parallel int) result {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "test", t.pkg, "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(),
		"-fuzzminimizetime", minimize, "-parallel", strconv.Itoa(parallel), "-timeout", "0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	r := read(&said)
	if r.took = time.Since(began); err != nil {
		r.failed = true
		fmt.Fprintf(os.Stderr, "%s: %v\n%s\n", t, err, said.Bytes())
		if r.text == "ok" {
			r.text = err.Error()
		}
	}
	return r
}

// read takes what go test printed.
func read(said *bytes.Buffer) result {
	r := result{text: "ok"}
	lines := bufio.NewScanner(bytes.NewReader(said.Bytes()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := progress.FindStringSubmatch(lines.Text()); m != nil {
			r.executions, _ = strconv.Atoi(m[1]) // it is digits
			r.fresh, _ = strconv.Atoi(m[2])
		}
		if m := written.FindStringSubmatch(lines.Text()); m != nil {
			r.text = "FAILED, see " + m[1]
		}
	}
	return r
}

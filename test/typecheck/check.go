package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// most is how many errors of one package are told.
const most = 10

// result is a checked package: once done is closed.
type result struct {
	done chan struct{}
	pkg  *types.Package
	err  error
}

// check type-checks the packages of the module at dir, and returns how many there are of it.
func check(dir, goos, arch string) (int, error) {
	all, err := list(dir, goos, arch)
	if err != nil {
		return 0, err
	}
	sizes := types.SizesFor("gc", arch)
	if sizes == nil {
		return 0, fmt.Errorf("no architecture of Go: %q", arch)
	}
	results := make(map[string]*result, len(all))
	for _, p := range all {
		results[p.ImportPath] = &result{done: make(chan struct{})}
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			r := results[p.ImportPath]
			defer close(r.done)
			for _, path := range p.Imports {
				if dep := results[path]; dep != nil {
					<-dep.done
				}
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			r.pkg, r.err = one(p, results, sizes)
		})
	}
	wg.Wait()
	own := 0
	var errs []error
	for _, p := range all {
		if p.own() {
			own++
		}
		errs = append(errs, results[p.ImportPath].err)
	}
	return own, errors.Join(errs...)
}

// one type-checks a package whose imports have been.
func one(p *listed, results map[string]*result, sizes types.Sizes) (*types.Package, error) {
	if p.ImportPath == "unsafe" {
		return types.Unsafe, nil
	}
	if len(p.GoFiles) == 0 { // it is not for this platform: whoever imports it does not compile
		return nil, nil
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	var errs []error
	conf := types.Config{
		IgnoreFuncBodies: p.Standard,
		Sizes:            sizes,
		Importer:         importer{p, results},
		Error: func(err error) {
			if len(errs) < most {
				errs = append(errs, err)
			}
		},
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	pkg, _ := conf.Check(path, files, parsed, nil) // its errors are told as they come
	return pkg, errors.Join(errs...)
}

// importer finds what a package imports among the packages that have been checked.
type importer struct {
	of      *listed
	results map[string]*result
}

func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.of.ImportMap[path]; ok {
		path = to
	}
	r := i.results[path]
	if r == nil || r.pkg == nil {
		return nil, fmt.Errorf("%s is not there", path)
	}
	return r.pkg, nil
}

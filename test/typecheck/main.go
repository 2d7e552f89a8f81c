package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS/GOARCH...")
		os.Exit(2)
	}
	var errs []error
	for _, platform := range os.Args[1:] {
		goos, arch, ok := strings.Cut(platform, "/")
		if !ok {
			fmt.Fprintf(os.Stderr, "typecheck: %q: want GOOS/GOARCH, as in darwin/arm64\n", platform)
			os.Exit(2)
		}
		n, err := check(".", goos, arch)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", platform, err))
			continue
		}
		fmt.Printf("%s: %d packages\n", platform, n)
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	out := flag.String("out", "../../dist/packages", "the directory for the packages")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "packagecheck:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	dir, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	made, err := packages("../..", dir)
	if err != nil {
		return err
	}
	for _, format := range slices.Sorted(maps.Keys(made.packages)) {
		fmt.Println(made.packages[format])
	}
	return nil
}

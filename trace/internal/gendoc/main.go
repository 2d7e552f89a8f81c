// Command gendoc writes docs/events.md from the source of package trace: the event types, their fields as encoded, and
// their doc comments. Its test fails if the committed file differs from its output.
//
// It owns that one page, runs no goroutine and publishes nothing.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	src := flag.String("src", ".", "directory of package trace")
	out := flag.String("o", "", "file to write; standard output when empty")
	flag.Parse()
	if err := run(*src, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}

func run(src, out string) error {
	page, err := generate(src)
	if err != nil {
		return err
	}
	if out == "" {
		_, err = os.Stdout.WriteString(page)
		return err
	}
	return os.WriteFile(out, []byte(page), 0o644)
}

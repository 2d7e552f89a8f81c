package main

import (
	"path/filepath"
	"testing"
)

// TestManPages has mandoc and man read each page: nothing is to be said of it but its style.
func TestManPages(t *testing.T) {
	pages, err := filepath.Glob("bin/package/man/*.1.gz")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: %v, %v", pages, err)
	}
	t.Run("mandoc", func(t *testing.T) {
		need(t, "mandoc")
		for _, p := range pages {
			if out, err := try(t, "sh", "-c", `gzip -dc "$1" | mandoc -T lint -W error`, "sh", p); err != nil {
				t.Errorf("%s: %v: %s", p, err, out)
			}
		}
	})
	t.Run("man", func(t *testing.T) {
		need(t, "man")
		for _, p := range pages {
			c, err := try(t, "man", "--warnings", "-l", p)
			if err != nil || len(c) < 200 {
				t.Errorf("%s: %v: %s", p, err, c)
			}
		}
	})
}

// TestCompletions has each shell read its completions, and bash complete a command with them.
func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			need(t, shell)
			output(t, shell, "-n", "bin/package/completions/"+shell)
		})
	}
	t.Run("bash completes", func(t *testing.T) {
		need(t, "bash")
		const script = `PATH="$PWD/bin:$PATH"; . bin/package/completions/bash
_get_comp_words_by_ref() { cur=wh prev=kubeloupe words=(kubeloupe wh) cword=1; }
COMP_WORDS=(kubeloupe wh) COMP_CWORD=1 COMP_LINE='kubeloupe wh' COMP_POINT=12 COMP_TYPE=9 COMP_KEY=9
compopt() { :; }; __ltrim_colon_completions() { :; }; _init_completion() { _get_comp_words_by_ref; }
__start_kubeloupe; echo "${COMPREPLY[@]}"`
		has(t, output(t, "bash", "-c", script), "why")
	})
}

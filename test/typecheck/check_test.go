package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck checks a module whose files for one platform do not compile, or whose tests do not.
func TestCheck(t *testing.T) {
	const plain = "package p\n\nfunc f() int { return g() }\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"all compile":  {map[string]string{"g_linux.go": "package p\n\nfunc g() int { return 1 }\n", "g_darwin.go": "package p\n\nfunc g() int { return 2 }\n"}, ""},
		"not there":    {map[string]string{"g_linux.go": "package p\n\nfunc g() int { return 1 }\n"}, "undefined: g"},
		"another type": {map[string]string{"g_darwin.go": "package p\n\nimport \"os\"\n\nfunc g() string { return os.TempDir() }\n"}, "cannot use"},
		"no syntax":    {map[string]string{"g.go": "package p\n\nfunc g() int { return\n"}, "expected"},
		"no package":   {map[string]string{"g.go": "package p\n\nimport \"example.com/p/none\"\n\nfunc g() int { return none.N }\n"}, "none"},
		"its test":     {map[string]string{"g.go": "package p\n\nfunc g() int { return 1 }\n", "g_test.go": "package p\n\nvar _ string = g()\n"}, "cannot use"},
		"outside test": {map[string]string{
			"g.go":      "package p\n\nfunc g() int { return 1 }\n",
			"e_test.go": "package p\n\nfunc G() int { return g() }\n",
			"g_test.go": "package p_test\n\nimport \"example.com/p\"\n\nvar _ string = p.G()\n",
		}, "cannot use"},
		"excluded": {map[string]string{
			"g.go": "package p\n\nimport _ \"example.com/p/q\"\n\nfunc g() int { return 1 }\n", "q/q_linux.go": "package q\n",
		}, "q"},
		"excluded, alone": {map[string]string{"g.go": "package p\n\nfunc g() int { return 1 }\n", "q/q_linux.go": "package q\n"}, ""},
		"a function":      {map[string]string{"g.go": "package p\n\nfunc g() int\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.files["go.mod"], c.files["f.go"] = "module example.com/p\n\ngo 1.26\n", plain
			for file, text := range c.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			n, err := check(dir, "darwin", "arm64")
			if c.want == "" {
				if err != nil || n == 0 {
					t.Errorf("%d packages, %v", n, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestNoArchitecture(t *testing.T) {
	if _, err := check(".", "linux", "none"); err == nil {
		t.Error("no error")
	}
}

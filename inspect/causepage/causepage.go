// Package causepage has the pages about causes (docs/causes) inside the program, for who shows them offline.
//
// It owns no text: pages.txt is a copy of docs/causes, which go test ./inspect/cause -run TestPages -update writes and that test compares.
// It keeps no state, runs no goroutine and publishes nothing.
package causepage

import (
	_ "embed"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed pages.txt
var pages string

// Page is the page of a cause.
type Page struct {
	ID   string
	Text string // Markdown
}

// All returns all pages, in order of the ids.
func All() (out []Page) {
	for _, f := range txtar.Parse([]byte(pages)).Files {
		out = append(out, Page{f.Name, string(f.Data)})
	}
	return out
}

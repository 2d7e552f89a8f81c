package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A layer is a row of the table of layers in docs/architecture.md.
type layer struct {
	name     string
	packages []string // by their names below agent/; "agent" is the assembled one
}

// layers are the rows in the document's order: each imports only from its own row and those above.
type layers []layer

// layersHeading is the sentence before the table.
const layersHeading = "Within `agent/`, packages form layers"

var quoted = regexp.MustCompile("`([^`]+)`")

// readLayers reads the table of docs/architecture.md. The project's authors write it.
func readLayers(doc string) (layers, error) {
	_, after, ok := strings.Cut(doc, layersHeading)
	if !ok {
		return nil, fmt.Errorf("no %q before the table of layers", layersHeading)
	}
	_, after, ok = strings.Cut(after, "\n\n")
	if !ok {
		return nil, fmt.Errorf("no table after %q", layersHeading)
	}
	table, _, _ := strings.Cut(after, "\n\n")
	var all layers
	rowOf := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			return nil, fmt.Errorf("table of layers: want | layer | packages | what they are |, got %q", line)
		}
		l := layer{name: strings.TrimSpace(cells[1])}
		if l.name == "" || strings.HasPrefix(l.name, "---") { // the table's head
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			if before, twice := rowOf[m[1]]; twice {
				return nil, fmt.Errorf("table of layers: %s is in %q and in %q", m[1], before, l.name)
			}
			rowOf[m[1]] = l.name
			l.packages = append(l.packages, m[1])
		}
		all = append(all, l)
	}
	return all, nil
}

// of returns the row of a package of the agent. A package below another, as volume/csi, is in that one's row.
func (all layers) of(path string) (row int, ok bool) {
	name := layerName(path)
	for row, l := range all {
		if slices.Contains(l.packages, name) {
			return row, true
		}
	}
	return 0, false
}

// check returns why the package with the path from may not import the path to, or the empty string. It has no opinion on
// what is not of the agent.
func (all layers) check(from, to string) string {
	if !within(from, module+"/agent") || !within(to, module+"/agent") {
		return ""
	}
	row, ok := all.of(from)
	if !ok {
		return fmt.Sprintf("%s is in no layer: add it to the table in docs/architecture.md", layerName(from))
	}
	below, ok := all.of(to)
	if !ok {
		return fmt.Sprintf("%s is in no layer: add it to the table in docs/architecture.md", layerName(to))
	}
	if below > row {
		return fmt.Sprintf("%s is of the layer %q, which imports nothing of the layer %q, as docs/architecture.md lists them", layerName(from), all[row].name, all[below].name)
	}
	return ""
}

// layerName is a package's name in the table.
func layerName(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/agent/")
	if !ok {
		return "agent"
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

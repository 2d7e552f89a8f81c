package report

import (
	"cmp"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/model"
)

// image is the agent's answer about one.
type image struct {
	ID      string   `json:"id"`
	Tags    []string `json:"tags"`
	Digests []string `json:"digests"`
	Bytes   int64    `json:"bytes"`
	Pinned  bool     `json:"pinned"`
	UsedBy  []string `json:"used_by"`
}

func makeImages(_ *model.Model, args Args) (*Table, error) {
	var images []image
	if err := live(args, &images); err != nil {
		return nil, err
	}
	t := &Table{None: "No images.", Columns: []Column{
		{Name: "IMAGE", Ends: true},
		{Key: "tags"},
		{Name: "ID", Key: "id", Drop: 1},
		{Name: "SIZE", Key: "bytes", Right: true},
		{Name: "PINNED", Key: "pinned"},
		{Name: "DIGESTS", Key: "digests", Wide: true},
		{Name: "USED BY", Key: "used_by", Long: true},
	}}
	for _, i := range images {
		id := str(i.ID)
		if short := strings.TrimPrefix(id.text, "sha256:"); len(short) > 13 {
			id.text = short[:13]
		}
		name := Value{text: cmp.Or(list(i.Tags).text, list(i.Digests).text)}
		t.add(name, list(i.Tags), id, size(i.Bytes), yes(i.Pinned), list(i.Digests), list(i.UsedBy))
	}
	return t, nil
}

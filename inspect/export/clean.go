package export

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// escape makes text for XML and HTML, in elements and attributes alike.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(human.Line(s))) // a Builder does not fail
	return b.String()
}

func write(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

package lab

import (
	"context"
	"embed"
	"io"
	"path/filepath"
)

// CollectorVersion is the version of the OpenTelemetry Collector's modules.
const CollectorVersion = "v0.165.0"

//go:embed otelcol/*.txt
var collectorSource embed.FS

// BuildCollector builds an OpenTelemetry Collector with the OTLP receiver and the file exporter, and returns the path of the program. The
// first time it takes two minutes of a processor; one line then goes to log, which may be nil.
func BuildCollector(ctx context.Context, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	hash, err := hashFS(collectorSource)
	if err != nil {
		return "", err
	}
	dir, err := b.ensure("otelcol", CollectorVersion+"-"+hash, "bin", func(tmp string) error {
		return b.inModule(collectorSource, func(dir string, env []string) error {
			return b.run(ctx, dir, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(tmp, "otelcol"), ".")
		})
	})
	return filepath.Join(dir, "otelcol"), err
}

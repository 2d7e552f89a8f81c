// Command exportcheck reads what inspect/export wrote with readers that are not ours: OTLP, as protobuf or
// JSON, with the OpenTelemetry collector's own decoder. It prints what it found, a line for each resource.
//
// It is a module apart, so that none of the collector's dependencies is ours; and it does not import ours,
// so that it knows nothing but the file.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: exportcheck FILE.pb|FILE.json...")
		os.Exit(2)
	}
	for _, name := range os.Args[1:] {
		lines, err := read(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "exportcheck:", err)
			os.Exit(1)
		}
		for _, line := range lines {
			fmt.Println(line)
		}
	}
}

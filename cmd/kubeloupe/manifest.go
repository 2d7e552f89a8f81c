package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// maxInput is how long a manifest may be, in bytes: as long as the agent reads of one.
const maxInput = 10 << 20

// readManifest reads the pods of a file, - for standard input. All that is wrong
// with it is in the error.
func readManifest(file string, in io.Reader, node string) ([]*v1.Pod, error) {
	var data []byte
	var err error
	if file == "-" {
		if data, err = io.ReadAll(io.LimitReader(in, maxInput+1)); len(data) > maxInput {
			err = fmt.Errorf("standard input is longer than %d bytes", maxInput)
		}
	} else {
		data, err = wholefile.Read(file, maxInput)
	}
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	path := file
	if file != "-" {
		path = absolute(file)
	}
	pods, problems, warnings := podsource.Decode(path, data, node)
	var errs []error
	for _, p := range slices.Concat(problems, warnings) { // somebody who writes a manifest wants to know
		errs = append(errs, p)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("%s has no pod in it", file)
	}
	return pods, nil
}

func names(pods []*v1.Pod) []string {
	out := make([]string, 0, len(pods))
	for _, p := range pods {
		out = append(out, podspec.Ref(p).String())
	}
	return out
}

func newlines(p []byte) io.Reader { return bytes.NewReader(p) }

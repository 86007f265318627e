package run

import (
	"runtime/debug"
	"testing"
)

func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	if got := BuildOf("", info, true); got != (Build{"v1.2.3", "abc", true}) {
		t.Errorf("%+v", got)
	}
	if got := BuildOf("", nil, false); got != (Build{Version: "(devel)"}) {
		t.Errorf("%+v", got)
	}
}

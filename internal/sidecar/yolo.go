package sidecar

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// yoloWords are what the rows of a model of YOLO may name: parse_model of ultralytics 8.4.190 looks up
// any other word among the functions of its own module, and calls it with arguments of the row.
var yoloWords = setOf(`A2C2f AIFI ADown BottleneckCSP Bottleneck C1 C2 C2PSA C2f C2fAttn C2fCIB C2fPSA C3 C3Ghost C3TR C3k2 C3k C3x CBFuse CBLinear Classify Concat Conv Conv2
	ConvTranspose Detect DWConv DWConvTranspose2d ELAN1 Focus GhostBottleneck GhostConv HGBlock HGStem ImagePoolingAttn Index LRPCHead PSA Pose Pose26 RepC3 RepConv
	RepNCSPELAN4 RepVGGDW ResNetLayer RTDETRDecoder SCDown Segment Segment26 SPP SPPELAN SPPF WorldDetect YOLOEDetect YOLOEDetect26 YOLOESegment YOLOESegment26 v10Detect OBB OBB26
	nn.Upsample nn.Conv2d nn.ConvTranspose2d nn.MaxPool2d nn.AvgPool2d nn.BatchNorm2d nn.Identity nn.ZeroPad2d nn.Flatten nn.Linear nn.SiLU nn.ReLU nn.LeakyReLU nn.Hardswish nn.GELU nn.Sigmoid
	nc nm npr kpt_shape anchors reg_max None null none True true False false nearest bilinear bicubic`)

// yolo notes the first word of a line that no row of a model of YOLO has; a key is none.
func (l *lines) yolo(line string) {
	for i := 0; i < len(line) && l.odd == ""; i++ {
		begin := i
		for i < len(line) && (isLetter(line[i]) || line[i] == '.') {
			i++
		}
		word := strings.Trim(line[begin:i], ".")
		if word == "" || isDigit(word[0]) || word[0] >= 0x80 || yoloWords()[word] {
			continue
		}
		if rest := strings.TrimLeft(line[i:], `"'`); !strings.HasPrefix(rest, ":") {
			l.odd, l.oddAt = strings.Clone(word[:min(len(word), maxText)]), l.at
		}
	}
}

// oddRow reports such a word in a model of YOLO.
func (l *lines) oddRow() error {
	if l.odd == "" || !l.backbone || !l.head {
		return nil
	}
	return l.once(codeExpression, tensor.Danger, "", l.oddAt, "YOLO looks up and calls what a row of its configuration names: "+wire.Quote(l.odd))
}

class Sequential(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.torch.nn.modules.container.___torch_mangle_20.Sequential,
    input: Tensor) -> Tensor:
    _0 = "Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {})"
    input0 = torch.conv2d(input, CONSTANTS.c0, CONSTANTS.c1)
    input1 = torch.relu(input0)
    input2 = torch.max_pool2d(input1, [2, 2], [2, 2])
    _1 = uninitialized(Tensor)
    _2 = torch.dim(input2)
    dim = torch.sub(_2, 2)
    scale_factors = annotate(List[float], [])
    for _3 in range(dim):
      _4 = torch.append(scale_factors, 2.)
    if torch.eq(_2, 3):
      _5 = torch.upsample_nearest1d(input2, None, scale_factors)
      input3 = _5
    else:
      if torch.eq(_2, 4):
        _7 = torch.upsample_nearest2d(input2, None, scale_factors)
        _6 = _7
      else:
        if torch.eq(_2, 5):
          _9 = torch.upsample_nearest3d(input2, None, scale_factors)
          _8 = _9
        else:
          _10 = torch.format(_0, _2, "nearest")
          ops.prim.RaiseException(_10, "builtins.NotImplementedError")
          _8 = _1
        _6 = _8
      input3 = _6
    input4 = torch.flatten(input3, 1)
    input5 = torch.linear(input4, CONSTANTS.c2, CONSTANTS.c3)
    return input5

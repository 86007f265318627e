def interpolate(input: Tensor,
    size: Optional[int]=None,
    scale_factor: Optional[float]=None,
    mode: str="nearest",
    align_corners: Optional[bool]=None,
    recompute_scale_factor: Optional[bool]=None,
    antialias: bool=False) -> Tensor:
  _0 = "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
  _1 = "only one of size or scale_factor should be defined"
  _2 = "AssertionError: scale_factor must be None when size is specified"
  _3 = "AssertionError: size must be None when scale_factor is specified"
  _4 = "either size or scale_factor should be defined"
  _5 = "recompute_scale_factor is not meaningful with an explicit size."
  _6 = "AssertionError: scale_factors is unexpectedly None"
  _7 = "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
  _8 = "AssertionError: output_size is unexpectedly None"
  _9 = __torch__.torch.nn.functional.adaptive_avg_pool2d
  _10 = __torch__.torch.nn.functional.adaptive_avg_pool3d
  _11 = "AssertionError: align_corners is unexpectedly None"
  _12 = "Lanczos mode does not support align_corners=True"
  _13 = "Lanczos mode requires antialias=True"
  _14 = "Got 3D input, but bilinear mode needs 4D input"
  _15 = "Got 3D input, but trilinear mode needs 5D input"
  _16 = "Got 4D input, but linear mode needs 3D input"
  _17 = "Got 4D input, but trilinear mode needs 5D input"
  _18 = "Got 5D input, but linear mode needs 3D input"
  _19 = "Got 5D input, but bilinear mode needs 4D input"
  _20 = "Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {})"
  _21 = uninitialized(Tensor)
  _22 = uninitialized(List[int])
  _23 = uninitialized(Optional[bool])
  _24 = uninitialized(NoneType)
  _25 = uninitialized(List[float])
  _26 = uninitialized(Optional[List[int]])
  _27 = uninitialized(Optional[List[float]])
  _28 = uninitialized(Optional[int])
  _29 = uninitialized(Optional[bool])
  _30 = uninitialized(bool)
  _31 = torch.__contains__(["nearest", "area", "nearest-exact"], mode)
  if _31:
    _32 = torch.__isnot__(align_corners, None)
    if _32:
      ops.prim.RaiseException(_0, "builtins.ValueError")
      align_corners1 : Optional[bool] = _29
    else:
      align_corners1 = align_corners
    align_corners0 : Optional[bool] = align_corners1
  else:
    if torch.__is__(align_corners, None):
      align_corners2 = False
    else:
      align_corners3 = unchecked_cast(bool, align_corners)
      align_corners2 = align_corners3
    align_corners0 = align_corners2
  dim = torch.sub(torch.dim(input), 2)
  if torch.__isnot__(size, None):
    size1 = unchecked_cast(int, size)
    _33, size0 = torch.__isnot__(scale_factor, None), size1
  else:
    _33, size0 = False, size
  if _33:
    ops.prim.RaiseException(_1, "builtins.ValueError")
    size2, output_size, scale_factors = _28, _26, _27
  else:
    if torch.__isnot__(size0, None):
      size4 = unchecked_cast(int, size0)
      _34 = torch.__isnot__(scale_factor, None)
      if _34:
        ops.prim.RaiseException(_2)
      else:
        pass
      size5 = unchecked_cast(int, size4)
      output_size1 = annotate(List[int], [])
      for _35 in range(dim):
        _36 = torch.append(output_size1, size5)
      size3, output_size0, scale_factors0 = size5, output_size1, None
    else:
      _37 = torch.__isnot__(scale_factor, None)
      if _37:
        scale_factor0 = unchecked_cast(float, scale_factor)
        if torch.__isnot__(size0, None):
          ops.prim.RaiseException(_3)
          size7 : Optional[int] = _28
        else:
          size7 = size0
        scale_factor1 = unchecked_cast(float, scale_factor0)
        scale_factors2 = annotate(List[float], [])
        for _38 in range(dim):
          _39 = torch.append(scale_factors2, scale_factor1)
        size6, output_size2, scale_factors1 = size7, None, scale_factors2
      else:
        ops.prim.RaiseException(_4, "builtins.ValueError")
        size6, output_size2, scale_factors1 = _28, _24, _25
      size3, output_size0, scale_factors0 = size6, output_size2, scale_factors1
    size2, output_size, scale_factors = size3, output_size0, scale_factors0
  _40 = torch.__isnot__(recompute_scale_factor, None)
  if _40:
    recompute_scale_factor1 = unchecked_cast(bool, recompute_scale_factor)
    _41, recompute_scale_factor0 = recompute_scale_factor1, recompute_scale_factor1
  else:
    _41, recompute_scale_factor0 = False, recompute_scale_factor
  if _41:
    recompute_scale_factor3 = unchecked_cast(bool, recompute_scale_factor0)
    _42, recompute_scale_factor2 = torch.__isnot__(size2, None), recompute_scale_factor3
  else:
    _42, recompute_scale_factor2 = False, recompute_scale_factor0
  if _42:
    ops.prim.RaiseException(_5, "builtins.ValueError")
    recompute_scale_factor4 : Optional[bool] = _23
  else:
    recompute_scale_factor4 = recompute_scale_factor2
  if torch.eq(mode, "area"):
    _43 = torch.__is__(output_size, None)
  else:
    _43 = False
  if _43:
    recompute_scale_factor5 : Optional[bool] = True
  else:
    recompute_scale_factor5 = recompute_scale_factor4
  _44 = torch.__isnot__(recompute_scale_factor5, None)
  if _44:
    recompute_scale_factor6 = unchecked_cast(bool, recompute_scale_factor5)
    _45 = recompute_scale_factor6
  else:
    _45 = False
  if _45:
    if torch.__is__(scale_factors, None):
      ops.prim.RaiseException(_6)
      scale_factors4 = _25
    else:
      scale_factors5 = unchecked_cast(List[float], scale_factors)
      scale_factors4 = scale_factors5
    output_size4 = annotate(List[int], [])
    for i in range(dim):
      _46 = torch.size(input, torch.add(i, 2))
      _47 = torch.mul(float(_46), scale_factors4[i])
      _48 = torch.append(output_size4, torch.floor(_47))
    output_size3, scale_factors3 = output_size4, None
  else:
    output_size3, scale_factors3 = output_size, scale_factors
  if antialias:
    _50 = torch.__contains__(["bilinear", "bicubic", "lanczos"], mode)
    if _50:
      _51 = torch.eq(torch.dim(input), 4)
    else:
      _51 = False
    _49 = torch.__not__(_51)
  else:
    _49 = False
  if _49:
    ops.prim.RaiseException(_7, "builtins.ValueError")
  else:
    pass
  if torch.eq(torch.dim(input), 3):
    _52 = torch.eq(mode, "nearest")
  else:
    _52 = False
  if _52:
    _54 = torch.upsample_nearest1d(input, output_size3, scale_factors3)
    _53 = _54
  else:
    if torch.eq(torch.dim(input), 4):
      _55 = torch.eq(mode, "nearest")
    else:
      _55 = False
    if _55:
      _57 = torch.upsample_nearest2d(input, output_size3, scale_factors3)
      _56 = _57
    else:
      if torch.eq(torch.dim(input), 5):
        _58 = torch.eq(mode, "nearest")
      else:
        _58 = False
      if _58:
        _60 = torch.upsample_nearest3d(input, output_size3, scale_factors3)
        _59 = _60
      else:
        if torch.eq(torch.dim(input), 3):
          _62 = torch.eq(mode, "nearest-exact")
          _61 = _62
        else:
          _61 = False
        if _61:
          _64 = torch._upsample_nearest_exact1d(input, output_size3, scale_factors3)
          _63 = _64
        else:
          if torch.eq(torch.dim(input), 4):
            _66 = torch.eq(mode, "nearest-exact")
            _65 = _66
          else:
            _65 = False
          if _65:
            _68 = torch._upsample_nearest_exact2d(input, output_size3, scale_factors3)
            _67 = _68
          else:
            _69 = torch.eq(torch.dim(input), 5)
            if _69:
              _71 = torch.eq(mode, "nearest-exact")
              _70 = _71
            else:
              _70 = False
            if _70:
              _73 = torch._upsample_nearest_exact3d(input, output_size3, scale_factors3)
              _72 = _73
            else:
              _74 = torch.eq(torch.dim(input), 3)
              if _74:
                _75 = torch.eq(mode, "area")
              else:
                _75 = False
              if _75:
                _77 = torch.__is__(output_size3, None)
                if _77:
                  ops.prim.RaiseException(_8)
                  output_size5 = _22
                else:
                  output_size6 = unchecked_cast(List[int], output_size3)
                  output_size5 = output_size6
                _78 = torch.adaptive_avg_pool1d(input, output_size5)
                _76 = _78
              else:
                _79 = torch.eq(torch.dim(input), 4)
                if _79:
                  _81 = torch.eq(mode, "area")
                  _80 = _81
                else:
                  _80 = False
                if _80:
                  _83 = torch.__is__(output_size3, None)
                  if _83:
                    ops.prim.RaiseException(_8)
                    output_size7 = _22
                  else:
                    output_size8 = unchecked_cast(List[int], output_size3)
                    output_size7 = output_size8
                  _84 = _9(input, output_size7, )
                  _82 = _84
                else:
                  _85 = torch.eq(torch.dim(input), 5)
                  if _85:
                    _87 = torch.eq(mode, "area")
                    _86 = _87
                  else:
                    _86 = False
                  if _86:
                    _89 = torch.__is__(output_size3, None)
                    if _89:
                      ops.prim.RaiseException(_8)
                      output_size9 = _22
                    else:
                      output_size10 = unchecked_cast(List[int], output_size3)
                      output_size9 = output_size10
                    _90 = _10(input, output_size9, )
                    _88 = _90
                  else:
                    _91 = torch.eq(torch.dim(input), 3)
                    if _91:
                      _93 = torch.eq(mode, "linear")
                      _92 = _93
                    else:
                      _92 = False
                    if _92:
                      _95 = torch.__is__(align_corners0, None)
                      if _95:
                        ops.prim.RaiseException(_11)
                        align_corners4 = _30
                      else:
                        align_corners5 = unchecked_cast(bool, align_corners0)
                        align_corners4 = align_corners5
                      _96 = torch.upsample_linear1d(input, output_size3, align_corners4, scale_factors3)
                      _94 = _96
                    else:
                      _97 = torch.eq(torch.dim(input), 4)
                      if _97:
                        _99 = torch.eq(mode, "bilinear")
                        _98 = _99
                      else:
                        _98 = False
                      if _98:
                        _101 = torch.__is__(align_corners0, None)
                        if _101:
                          ops.prim.RaiseException(_11)
                          align_corners6 = _30
                        else:
                          align_corners7 = unchecked_cast(bool, align_corners0)
                          align_corners6 = align_corners7
                        if antialias:
                          _103 = torch._upsample_bilinear2d_aa(input, output_size3, align_corners6, scale_factors3)
                          _102 = _103
                        else:
                          _104 = torch.upsample_bilinear2d(input, output_size3, align_corners6, scale_factors3)
                          _102 = _104
                        _100 = _102
                      else:
                        _105 = torch.dim(input)
                        _106 = torch.eq(_105, 5)
                        if _106:
                          _108 = torch.eq(mode, "trilinear")
                          _107 = _108
                        else:
                          _107 = False
                        if _107:
                          _110 = torch.__is__(align_corners0, None)
                          if _110:
                            ops.prim.RaiseException(_11)
                            align_corners8 = _30
                          else:
                            align_corners9 = unchecked_cast(bool, align_corners0)
                            align_corners8 = align_corners9
                          _111 = torch.upsample_trilinear3d(input, output_size3, align_corners8, scale_factors3)
                          _109 = _111
                        else:
                          _112 = torch.dim(input)
                          _113 = torch.eq(_112, 4)
                          if _113:
                            _115 = torch.eq(mode, "bicubic")
                            _114 = _115
                          else:
                            _114 = False
                          if _114:
                            _117 = torch.__is__(align_corners0, None)
                            if _117:
                              ops.prim.RaiseException(_11)
                              align_corners10 = _30
                            else:
                              align_corners11 = unchecked_cast(bool, align_corners0)
                              align_corners10 = align_corners11
                            if antialias:
                              _119 = torch._upsample_bicubic2d_aa(input, output_size3, align_corners10, scale_factors3)
                              _118 = _119
                            else:
                              _120 = torch.upsample_bicubic2d(input, output_size3, align_corners10, scale_factors3)
                              _118 = _120
                            _116 = _118
                          else:
                            _121 = torch.dim(input)
                            _122 = torch.eq(_121, 4)
                            if _122:
                              _124 = torch.eq(mode, "lanczos")
                              _123 = _124
                            else:
                              _123 = False
                            if _123:
                              _126 = torch.__is__(align_corners0, None)
                              if _126:
                                ops.prim.RaiseException(_11)
                                align_corners12 = _30
                              else:
                                align_corners13 = unchecked_cast(bool, align_corners0)
                                align_corners12 = align_corners13
                              if align_corners12:
                                ops.prim.RaiseException(_12, "builtins.ValueError")
                              else:
                                pass
                              _127 = torch.__not__(antialias)
                              if _127:
                                ops.prim.RaiseException(_13, "builtins.ValueError")
                              else:
                                pass
                              _128 = torch._upsample_lanczos2d_aa(input, output_size3, align_corners12, scale_factors3)
                              _125 = _128
                            else:
                              _129 = torch.dim(input)
                              _130 = torch.eq(_129, 3)
                              if _130:
                                _132 = torch.eq(mode, "bilinear")
                                _131 = _132
                              else:
                                _131 = False
                              if _131:
                                ops.prim.RaiseException(_14, "builtins.NotImplementedError")
                              else:
                                pass
                              _133 = torch.dim(input)
                              _134 = torch.eq(_133, 3)
                              if _134:
                                _136 = torch.eq(mode, "trilinear")
                                _135 = _136
                              else:
                                _135 = False
                              if _135:
                                ops.prim.RaiseException(_15, "builtins.NotImplementedError")
                              else:
                                pass
                              _137 = torch.dim(input)
                              _138 = torch.eq(_137, 4)
                              if _138:
                                _140 = torch.eq(mode, "linear")
                                _139 = _140
                              else:
                                _139 = False
                              if _139:
                                ops.prim.RaiseException(_16, "builtins.NotImplementedError")
                              else:
                                pass
                              _141 = torch.dim(input)
                              _142 = torch.eq(_141, 4)
                              if _142:
                                _144 = torch.eq(mode, "trilinear")
                                _143 = _144
                              else:
                                _143 = False
                              if _143:
                                ops.prim.RaiseException(_17, "builtins.NotImplementedError")
                              else:
                                pass
                              _145 = torch.dim(input)
                              _146 = torch.eq(_145, 5)
                              if _146:
                                _148 = torch.eq(mode, "linear")
                                _147 = _148
                              else:
                                _147 = False
                              if _147:
                                ops.prim.RaiseException(_18, "builtins.NotImplementedError")
                              else:
                                pass
                              _149 = torch.dim(input)
                              _150 = torch.eq(_149, 5)
                              if _150:
                                _152 = torch.eq(mode, "bilinear")
                                _151 = _152
                              else:
                                _151 = False
                              if _151:
                                ops.prim.RaiseException(_19, "builtins.NotImplementedError")
                              else:
                                pass
                              _153 = torch.dim(input)
                              _154 = torch.format(_20, _153, mode)
                              ops.prim.RaiseException(_154, "builtins.NotImplementedError")
                              _125 = _21
                            _116 = _125
                          _109 = _116
                        _100 = _109
                      _94 = _100
                    _88 = _94
                  _82 = _88
                _76 = _82
              _72 = _76
            _67 = _72
          _63 = _67
        _59 = _63
      _56 = _59
    _53 = _56
  return _53

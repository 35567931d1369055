// SPDX-License-Identifier: Apache-2.0
// The functions behind the rows of zoo.cc; each family has a file.
#pragma once

#include "zoo/zoo.h"

namespace egret::zoo {

// classic_cnns.cc
base::Result<ir::Graph> alexnet(const ZooOptions& options);
base::Result<ir::Graph> csrnet_backend(const ZooOptions& options);
base::Result<ir::Graph> densenet121(const ZooOptions& options);
base::Result<ir::Graph> mlp(const ZooOptions& options);
base::Result<ir::Graph> mobilenet_v2(const ZooOptions& options);
base::Result<ir::Graph> squeezenet_1_0(const ZooOptions& options);
base::Result<ir::Graph> squeezenet_1_1(const ZooOptions& options);
base::Result<ir::Graph> unet(const ZooOptions& options);
base::Result<ir::Graph> vgg16(const ZooOptions& options);
base::Result<ir::Graph> vgg19(const ZooOptions& options);
// resnets.cc
base::Result<ir::Graph> resnet18(const ZooOptions& options);
base::Result<ir::Graph> resnet34(const ZooOptions& options);
base::Result<ir::Graph> resnet50(const ZooOptions& options);
base::Result<ir::Graph> resnet101(const ZooOptions& options);
base::Result<ir::Graph> resnet50_taso(const ZooOptions& options);
base::Result<ir::Graph> resnext50(const ZooOptions& options);
base::Result<ir::Graph> resnext50_taso(const ZooOptions& options);
// inception.cc
base::Result<ir::Graph> inception_v3(const ZooOptions& options);
base::Result<ir::Graph> inception_v3_nobn(const ZooOptions& options);
// nasnet.cc
base::Result<ir::Graph> nasnet_a(const ZooOptions& options);
base::Result<ir::Graph> nasrnn(const ZooOptions& options);
// sparse_models.cc
base::Result<ir::Graph> dlrm(const ZooOptions& options);
base::Result<ir::Graph> moe_block(const ZooOptions& options);
// transformers.cc
base::Result<ir::Graph> bert_base(const ZooOptions& options);
base::Result<ir::Graph> bert_large(const ZooOptions& options);
base::Result<ir::Graph> bert_pet(const ZooOptions& options);
base::Result<ir::Graph> bert_taso(const ZooOptions& options);
base::Result<ir::Graph> gpt2(const ZooOptions& options);
base::Result<ir::Graph> llama_block(const ZooOptions& options);

}  // namespace egret::zoo

"""The evaluator of Zhao et al. 2020 ("Designing Precise and Robust Dialogue Response Evaluators", section 5.3):

    score = 4 * sigmoid(MLP(encoder([context; response]))) + 1

over any pretrained encoder: a network that reads context and reply and says from 1 to 5 how well the reply fits. It is
trained on dialogues, by ranking true replies above others, then on human scores. In reading order:

encoder          the evaluator: parameters, fit, predict, save, load, export
model            the interface of a trained model, in PyTorch or ONNX, and the files of its folder

cross_encoder    the network of the equation
tokeniser        a context and a reply as its input

texts            contexts and replies as separate texts
branching        a context with all its replies in one row
branch_encoder   the network that reads such rows (`towers=True`): context and reply together and apart

training         the model to start from and the stages in order
presets          how long each stage runs
towers           the encoder as two towers, whose cosines say which reply belongs to which context
in_batch_stage   stage 1, dialogues: the towers learn with the other replies of a batch as negatives
stages           stages 2 and 3: true replies above others on dialogues; human scores
scored_replies   what stages share that learn scores
replay           replies that keep their scores while human scores are learned

torch_model      the model in torch
onnx_model       the model in ONNX Runtime
onnx_export      from the first to the second
int8             its weights as int8
widening         from int8 weights back to a model that can be trained further
"""

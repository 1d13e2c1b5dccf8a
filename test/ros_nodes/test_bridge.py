"""``ros2`` nodes: topics, services and actions of the rest of ROS, without a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import SetBool

from manager.harness import DEADLINE
from spinning import LATCHED
from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Run, Runs
    from manager.observer import Observer

test_msgs = pytest.importorskip('test_msgs.action', reason='the package test_msgs has actions to test with')
Fibonacci = test_msgs.Fibonacci

FIBONACCI = {'action': '/fib', 'action_type': 'test_msgs/Fibonacci'}
REPLIES = (
    'rr/setReply',
    'rr/fib/_action/send_goalReply',
    'rr/fib/_action/get_resultReply',
    'rr/fib/_action/cancel_goalReply',
)
"""Topics below the service and the action. A server that answers before it knows the client's end of them answers in
vain, and a client cannot know when it does."""
SET_BOOL = {'service': 'set', 'service_type': 'std_srvs/SetBool'}


def _action_server(observer: Observer) -> ActionServer[Any, Any, Any]:
    """Offer an action whose goal 1 succeeds, whose goal 2 waits to be cancelled, and whose goal 3 is rejected."""
    cancelled: Future[None] = Future()

    async def execute(goal: Any) -> Any:
        goal.publish_feedback(Fibonacci.Feedback(sequence=[0, goal.request.order]))
        if goal.request.order == 1:
            goal.succeed()
            return Fibonacci.Result(sequence=[1, 1])
        await cancelled
        goal.canceled()
        return Fibonacci.Result(sequence=[2])

    def cancel(_: Any) -> CancelResponse:
        cancelled.set_result(None)
        return CancelResponse.ACCEPT

    def accept(goal: Any) -> GoalResponse:
        return GoalResponse.REJECT if goal.order == 3 else GoalResponse.ACCEPT

    return ActionServer(observer.node, Fibonacci, '/fib', execute, goal_callback=accept, cancel_callback=cancel)


def _log(manager: Run, node: str) -> str:
    return '\n'.join(line['line'] for line in list(manager.output) if line['node'] == node)


def _knows_the_clients(observer: Observer) -> bool:
    return all(observer.node.get_subscriptions_info_by_topic(topic, no_mangle=True) for topic in REPLIES)


def _set(request: Any, response: Any) -> Any:
    response.success, response.message = request.data, f'was {request.data}'
    return response


def test_a_dataflow_speaks_calls_and_sends_goals(flow: Flow, run: Runs, observer: Observer) -> None:
    observer.node.create_service(SetBool, '/set', _set)
    actions = _action_server(observer)
    said = observer.listen(String, '/said', LATCHED)
    heard = observer.node.create_publisher(String, '/heard', LATCHED)
    heard.publish(String(data='latched'))
    too_weak = PublisherEventCallbacks(use_default_callbacks=False)
    observer.node.create_publisher(String, '/heard', qos_profile_sensor_data, event_callbacks=too_weak)
    flow.any_node(
        'topics',
        ros2={
            'topics': [
                {'topic': '/heard', 'message_type': 'std_msgs/String'},
                {'topic': 'said', 'message_type': 'std_msgs/msg/String', 'direction': 'publish', 'input': 'say'},
            ],
            'qos': {'reliable': True, 'durability': 'transient_local'},
            'node_name': 'radio',
        },
        inputs={'say': 'client/say'},
        outputs=['heard'],
    )
    flow.any_node('set', ros2={**SET_BOOL, 'role': 'client'}, inputs={'ask': 'client/request'}, outputs=['response'])
    flow.any_node(
        'fib',
        ros2={**FIBONACCI, 'role': 'client', 'qos': {'reliable': True, 'keep_last': 5}},
        inputs={'goal': 'client/goal', 'cancel': 'client/cancel'},
        outputs=['feedback', 'result'],
    )
    flow.node(
        'client', 'bridge_client.py',
        inputs={name: f'{source}/{name}' for name, source in (
            ('heard', 'topics'), ('response', 'set'), ('feedback', 'fib'), ('result', 'fib'),
        )},
        outputs=['say', 'request', 'goal', 'cancel'],
    )  # fmt: skip
    manager = run(flow).running()
    eventually(lambda: [message.data for message in said] == ['hello'], DEADLINE, 'what the dataflow says')
    nodes = {('radio', '/'), ('set_ros2', '/flow'), ('fib_ros2', '/flow')}
    eventually(lambda: nodes <= set(observer.node.get_node_names_and_namespaces()), DEADLINE, 'the ROS nodes')
    eventually(lambda: _knows_the_clients(observer), DEADLINE, 'the clients of the service and the action')
    heard.publish(String(data='go'))
    answers = {
        '0 heard latched',
        '0 heard go',
        '0 response yes 7 True was True',
        '0 response no 7 False was False',
        '0 feedback 1 [0, 1]',
        '0 result 1 succeeded [1, 1]',
        '0 feedback 2 [0, 2]',
        '0 result 2 canceled [2]',
        '0 result 3 aborted [] the action server rejects it',
    }
    eventually(lambda: answers <= set(flow.marks('client')), DEADLINE, f'{flow.marks("client")}')
    assert len(flow.marks('client')) == len(answers)
    eventually(lambda: 'hear each other, their reliability is not compatible' in _log(manager, 'topics'), DEADLINE)
    text = 'a value of input `ask` is dropped: std_srvs/srv/SetBool_Request has no field `date`; did you mean `data`?'
    assert text in _log(manager, 'set')
    assert manager.interrupt() == 130
    assert (manager.errors(), len(flow.marks('client'))) == ([], len(answers))
    actions.destroy()


def test_a_dataflow_answers_calls_and_pursues_goals(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.any_node('set', ros2={**SET_BOOL, 'role': 'server'}, inputs={'r': 'server/response'}, outputs=['request'])
    flow.any_node(
        'fib',
        ros2={**FIBONACCI, 'role': 'server'},
        inputs={'feedback': 'server/feedback', 'result': 'server/result'},
        outputs=['goal', 'cancel'],
    )
    flow.node(
        'server', 'bridge_server.py', restart_policy='on-failure',
        inputs={'request': 'set/request', 'goal': 'fib/goal', 'cancel': 'fib/cancel'},
        outputs=['response', 'feedback', 'result'],
    )  # fmt: skip
    manager = run(flow).running()
    calls: Any = observer.node.create_client(SetBool, '/set')
    actions: Any = ActionClient(observer.node, Fibonacci, '/fib')
    assert calls.wait_for_service(DEADLINE)
    assert actions.wait_for_server(DEADLINE)
    asked = [calls.call_async(SetBool.Request(data=data)) for data in (True, False)]
    eventually(lambda: all(call.done() for call in asked), DEADLINE, 'two responses')
    responses = [call.result() for call in asked]
    assert [response.success for response in responses] == [True, False]
    assert {response.message for response in responses} == {'answer 0', 'answer 1'}

    feedback: list[list[int]] = []

    def send(order: int) -> tuple[Any, Any]:
        """Send a goal; return its handle and the future of its result."""
        goal = observer.on_thread(
            actions.send_goal_async,
            Fibonacci.Goal(order=order),
            lambda message: feedback.append(list(message.feedback.sequence)),
        )
        eventually(goal.done, DEADLINE, f'goal {order}')
        eventually(lambda: [0, order] in feedback, DEADLINE, f'feedback {order}')
        return goal.result(), observer.on_thread(goal.result().get_result_async)

    def ended(result: Any) -> tuple[int, list[int]]:
        eventually(result.done, DEADLINE, 'result')
        return result.result().status, list(result.result().result.sequence)

    assert ended(send(1)[1]) == (GoalStatus.STATUS_SUCCEEDED, [1, 1])
    assert ended(send(2)[1]) == (GoalStatus.STATUS_ABORTED, [2])
    handle, result = send(3)
    handle.cancel_goal_async()
    assert ended(result) == (GoalStatus.STATUS_CANCELED, [3])
    assert ended(send(4)[1]) == (GoalStatus.STATUS_ABORTED, [])
    manager.event('NODE_RESTARTED', 'server')
    _, result = send(5)
    assert manager.interrupt() == 130
    assert ended(result) == (GoalStatus.STATUS_ABORTED, [])
    assert 'is aborted: server is gone' in _log(manager, 'fib')
    assert 'is aborted: the dataflow stops' in _log(manager, 'fib')
    actions.destroy()

"""Services, actions, streams and merged ROS 2 subscriptions between real node processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from node.harness import timer_input, topic_input, topic_output

if TYPE_CHECKING:
    from node.harness import Dataflow

SERVER = """
    import dora, pyarrow as pa
    from dora import Ros2Context, Ros2NodeOptions, Ros2QosPolicies
    parameters = {'speed': 1.5, 'l': [1, 2]}
    ros = Ros2Context().new_node('ros_side', '/df', Ros2NodeOptions(rosout=True), parameters)
    qos = Ros2QosPolicies(reliable=True, keep_last=5)
    topic = ros.create_topic('/chatter', 'std_msgs/String', qos)
    publisher = ros.create_publisher(topic)
    service = ros.create_service_server('/switch', 'std_srvs/SetBool', qos)
    assert ros.get_parameter('speed') == 1.5 and ros.get_parameter('l') == [1, 2] and ros.get_parameter('none') is None
    for bad in (lambda: ros.set_parameter('l', 'text'), lambda: ros.set_parameter('none', 1)):
        try:
            bad()
        except RuntimeError as error:
            print('REFUSED', error, flush=True)
    ros.set_parameter('speed', 2.5)
    assert ros.get_parameter('speed') == 2.5 and 'speed' in ros.list_parameters()
    node = dora.Node()
    for event in node:
        if event['type'] != 'INPUT':
            continue
        if event['id'] == 'request':
            number = event['value'][0].as_py()
            if number == 3:
                publisher.publish(pa.array([{'data': 'from ros'}]))
                request_id, request = service.take_request(timeout_s=20.0)
                print('REQUEST', request.to_pylist(), flush=True)
                service.send_response(request_id, pa.array([{'success': True, 'message': 'done'}]))
            node.send_output('other', pa.array([number]))
            if number != 2:
                node.send_service_response('response', pa.array([number * 10]), event['metadata'])
        elif event['id'] == 'goal':
            goal = {'goal_id': event['metadata']['goal_id']}
            node.send_output('response', pa.array(['half']), goal)
            node.send_output('response', pa.array(['all']), {**goal, 'goal_status': 'succeeded'})
            with node.send_output_raw('other', 4, {'raw': True}) as buffer:
                buffer[:] = b'1234'
"""

CLIENT = """
    import asyncio, dora, pyarrow as pa
    from dora import Ros2Context, Ros2NodeOptions, Ros2QosPolicies
    node = dora.Node()
    qos = Ros2QosPolicies(reliable=True, keep_last=5)
    ros = Ros2Context().new_node('ros_client', '/df', Ros2NodeOptions())
    heard = ros.create_subscription(ros.create_topic('/chatter', 'std_msgs::String', qos))
    assert heard.next() is None
    node.merge_external_events(heard)
    first = node.send_service_request('request', pa.array([1]), {'who': 'me'})
    answer = node.recv_service_response(first, 'server', 20.0)
    print('ANSWER', answer['value'].to_pylist(), answer['metadata']['request_id'] == first, answer['metadata']['who'])
    second = node.send_service_request('request', pa.array([2]))
    try:
        node.recv_service_response(second, 'server', 0.3)
    except TimeoutError as error:
        print('LATE', str(error).replace(second, 'it'))
    switch = ros.create_service_client('/switch', 'std_srvs/SetBool', qos)
    third = node.send_service_request('request', pa.array([3]))
    print('SWITCH', switch.call(pa.array([{'data': True}])).to_pylist())
    print('ANSWER', node.recv_service_response(third, 'server', 20.0)['value'].to_pylist())
    node.send_output('goal', pa.array([0]), {'goal_id': 'g'})
    result = node.recv_action_result('g', 'server', 20.0)
    print('RESULT', result['value'].to_pylist(), result['metadata']['goal_status'])
    seen = set()
    async def rest():
        while len(seen) < 7:
            event = await node.recv_async(timeout=20.0)
            if event['kind'] == 'external':
                seen.add(f"external {event['value'].to_pylist()[0]['data']} {event['message'].data}")
            elif event['id'] == 'other' and event['metadata'].get('raw'):
                seen.add(f"raw {event['value'].type} {bytes(event['value'].to_numpy()).decode()}")
            elif event['id'] in ('other', 'response'):
                seen.add(f"{event['id']} {event['value'].to_pylist()[0]}")
            else:
                seen.add('tick')
    asyncio.run(rest())
    print('REST', '; '.join(sorted(seen)), flush=True)
"""


def test_answers_streams_and_ros_beside_each_other(dataflow: Dataflow) -> None:
    server = dataflow.node(
        'server',
        SERVER,
        inputs=(topic_input('request', 'client/request'), topic_input('goal', 'client/goal')),
        outputs=(topic_output('response', 'server'), topic_output('other', 'server')),
    )
    client = dataflow.node(
        'client',
        CLIENT,
        inputs=(
            topic_input('response', 'server/response', input_timeout=60.0),
            topic_input('other', 'server/other'),
            timer_input('tick', 0.2),
        ),
        outputs=(topic_output('request', 'client'), topic_output('goal', 'client')),
    )
    for node in (server, client):
        node.configure()
    server.activate({'response': ['/df/client'], 'other': ['/df/client']})
    client.activate({'request': ['/df/server'], 'goal': ['/df/server']})
    assert client.wait(60.0) == 0
    assert [line for line in client.lines if line.split(' ')[0].isupper()] == [
        'ANSWER [10] True me',
        'LATE node `server` did not answer it in time',
        "SWITCH [{'success': True, 'message': 'done'}]",
        'ANSWER [30]',
        "RESULT ['all'] succeeded",
        'REST external from ros from ros; other 1; other 2; other 3; raw uint8 1234; response half; tick',
    ]
    assert not client.ops('input_closed')
    server.stop()
    assert server.wait() == 0
    assert server.lines[0].startswith("REFUSED parameter 'l' cannot be 'text': ")
    assert server.lines[1].startswith("REFUSED parameter 'none' is not declared: ")
    assert server.lines[2] == "REQUEST [{'data': True}]"


ACTION_SERVER = """
    import pyarrow as pa
    from dora import Node, Ros2Context, Ros2NodeOptions, Ros2QosPolicies
    ros = Ros2Context().new_node('pursuer', '/df', Ros2NodeOptions())
    action = ros.create_action_server('/count', 'test_msgs/Fibonacci', Ros2QosPolicies(reliable=True, keep_last=10))
    node = Node()
    for _ in range(2):
        goal_id, goal = action.take_goal(timeout_s=20.0)
        order = goal[0].as_py()['order']
        print('GOAL', order, flush=True)
        if order == 0:
            while goal_id not in (action.take_cancel(timeout_s=20.0) or ()):
                pass
            action.send_result(goal_id, {}, status='canceled')
        else:
            action.send_feedback(goal_id, {'sequence': [0, 1]})
            action.send_result(goal_id, pa.array([{'sequence': list(range(order))}]))
    try:
        action.send_result(goal_id, {})
    except RuntimeError as error:
        print('TWICE', str(error).replace(goal_id, 'it'), flush=True)
    node.next(timeout=20.0)
"""

ACTION_CLIENT = """
    import time
    import pyarrow as pa
    from dora import Node, Ros2Context, Ros2NodeOptions, Ros2QosPolicies
    ros = Ros2Context().new_node('asker', '/df', Ros2NodeOptions())
    action = ros.create_action_client('/count', 'test_msgs::Fibonacci', Ros2QosPolicies(reliable=True, keep_last=10))

    class Overtaken:
        def __init__(self, handle):
            self._handle = handle

        def __getattr__(self, name):
            return getattr(self._handle, name)

        def send_goal_request(self, request):
            number = self._handle.send_goal_request(request)
            time.sleep(0.3)  # meanwhile the answer comes
            return number

    action._client._client_handle = Overtaken(action._client._client_handle)
    node = Node()
    first = action.send_goal(pa.array([{'order': 3}]), timeout_s=20.0)
    print('FEEDBACK', action.take_feedback(first, timeout_s=20.0).to_pylist(), flush=True)
    status, result = action.take_result(first, timeout_s=20.0)
    print('RESULT', status, result.to_pylist(), flush=True)
    second = action.send_goal({'order': 0}, timeout_s=20.0)
    print('NONE', action.take_feedback(second, 0.01), action.take_result(second, 0.01), flush=True)
    print('CANCEL', action.cancel(second, timeout_s=20.0), action.take_result(second, timeout_s=20.0)[0], flush=True)
"""


def test_ros_actions_of_a_script(dataflow: Dataflow) -> None:
    server, client = dataflow.node('server', ACTION_SERVER), dataflow.node('client', ACTION_CLIENT)
    server.start()
    client.start()
    assert client.wait(60.0) == 0
    assert client.lines == [
        "FEEDBACK [{'sequence': [0, 1]}]",
        "RESULT succeeded [{'sequence': [0, 1, 2]}]",
        'NONE None None',
        'CANCEL 0 canceled',
    ]
    server.stop()
    assert server.wait() == 0
    assert server.lines == ['GOAL 3', 'GOAL 0', 'TWICE action /count pursues no goal it: end each one once']

-- Queries that people write over streams. Each must be native; most are run, and their answers compared with Spark's.
-- `events` is the stream, `names` and `limits` are static; `-- name` begins a query, a star after it means: not run here.

-- star
select * from events

-- star except
select * except (js, arr) from events

-- case
select case when i > 10 then 'big' when i is null then 'none' else 'small' end size, k from events

-- simple case
select case k when 'k0' then 0 when 'k1' then 1 end from events

-- lateral alias
select i + 1 as j, j * 2 as jj from events

-- alias of alias
select i + 1 as j, j * 2 as jj, jj + j as jjj from events where i > 2

-- distinct
select distinct k from events

-- between
select id from events where i between 3 and 20 and d not between 1 and 2

-- in
select id from events where k in ('k0', 'k2') or i in (1, 2, 3)

-- not in
select id from events where k not in ('k0', 'k2')

-- like
select id from events where s like 'a%' or s ilike '%B%' or s rlike '[0-9]+'

-- like any
select id from events where s like any ('a%', '%b%') and s not like all ('x%', 'y%')

-- null tests
select id, i is null, i is not null, i <=> l, nvl(i, 0), coalesce(i, l, 0), ifnull(i, 1) from events

-- is true
select id from events where b is true or (b is not false and i > 3)

-- is distinct
select id from events where i is distinct from l

-- cast
select cast(i as string), i::double, cast(s as int) is null, try_cast(s as int) from events where s is null

-- try
select try_cast(s as int), try_divide(i, l), try_add(i, 1), try_to_timestamp(s) from events

-- arithmetic
select i + l, i - l, i * 2, i / 3, i % 3, i div 2, -i, abs(i), m * 2, m / 3 from events

-- rounding
select round(d, 1), floor(d), ceil(d), bround(d), round(m) from events

-- bits
select i & 3, i | 1, i ^ 2, ~i, shiftleft(i, 2), bit_count(i) from events

-- string functions
select upper(s), lower(s), trim(s), length(s), substring(s, 1, 2), left(s, 2), right(s, 1), concat(s, '-', k), s || k, concat_ws(',', s, k), lpad(s, 5, '0'), rpad(s, 5, ' '), replace(s, 'a', 'b'), reverse(s), repeat(s, 2), initcap(s), instr(s, 'a'), locate('a', s), translate(s, 'ab', 'xy'), split(s, ','), split_part(s, ',', 1), ascii(s), startswith(s, 'a'), endswith(s, 'b'), contains(s, 'a') from events

-- regular expressions
select regexp_extract(s, '([a-z]+)([0-9]*)', 1), regexp_replace(s, '[0-9]', '#'), regexp_extract_all(s, '([0-9])', 1), regexp_count(s, 'a'), regexp_like(s, '^a') from events

-- formats
select format_number(d, 2), format_string('%s-%d', k, i), printf('%05d', i), to_char(m, '9,990.99'), hex(i), md5(s), sha2(s, 256), base64(encode(s, 'utf-8')), crc32(s), hash(i, s), xxhash64(i, s) from events

-- to number
select to_number('12.5', '99.9') + i, try_to_number(s, '999') from events

-- time parts
select year(t), month(t), day(t), hour(t), minute(t), second(t), dayofweek(t), weekofyear(t), quarter(t), extract(hour from t), date_part('day', t), date_format(t, 'yyyy-MM-dd HH:mm') from events

-- time sums
select t + interval 1 hour, t - interval '10' minute, date_add(day, 1), day + 1, datediff(day, date'2024-01-01'), add_months(day, 1), months_between(t, day), date_trunc('hour', t), trunc(day, 'month'), last_day(day), next_day(day, 'mon'), timestampadd(minute, 5, t), timestampdiff(second, day, t), dateadd(day, 2, day) from events

-- time conversions
select to_date(s), to_timestamp(concat('2024-01-0', l + 1), 'yyyy-MM-d'), unix_timestamp(t), from_unixtime(l), cast(t as long), to_utc_timestamp(t, 'Asia/Tokyo'), from_utc_timestamp(t, 'Europe/Berlin'), unix_millis(t), timestamp_millis(l), date'2024-01-01', make_date(2024, 1, 2), make_timestamp(2024, 1, 2, 3, 4, 5) from events where s is null

-- interval of columns
select t + make_interval(0, 0, 0, i, 0, 0, 0), t + make_dt_interval(i) from events where i < 100

-- interval expr
select t + interval '1' month, day + interval '1-2' year to month, t + make_dt_interval(0, 0, i), t + i * interval 1 second from events

-- from_json
select from_json(js, 'a int, b string').a from events

-- json
select get_json_object(js, '$.a'), to_json(struct(i, k)), json_array_length('[1,2]'), json_object_keys(js) from events

-- arrays
select arr[0], element_at(arr, 1), size(arr), array_contains(arr, 3), array_max(arr), sort_array(arr), array_distinct(arr), slice(arr, 1, 2), array_join(arr, ','), array(i, 2), flatten(array(arr, arr)), array_union(arr, array(1)), exists(arr, x -> x > 2), transform(arr, x -> x + 1), filter(arr, x -> x > 1), aggregate(arr, 0, (a, x) -> a + x), get(arr, 9), try_element_at(arr, 9), array_position(arr, 2), sequence(1, 3) from events where size(arr) > 0

-- maps
select mp['a'], map_keys(mp), map_values(mp), map('x', i), element_at(mp, 'a'), map_contains_key(mp, 'b'), transform_values(mp, (k, v) -> v + 1), map_filter(mp, (k, v) -> v > 1), map_entries(mp), map_from_arrays(array('a'), array(i)), str_to_map('a:1,b:2') from events

-- structs
select st.x, st.y, st.*, named_struct('p', i, 'q', k) ns, struct(i, k).i from events

-- hashes *
select uuid() is not null, rand() < 2, randn() is not null, length(randstr(5)), size(shuffle(array(1, 2, 3))) from events

-- current time *
select t, current_timestamp() > t, current_date() > day, now() >= t from events

-- misc *
select typeof(i), current_catalog(), current_user() is not null, version() is not null, monotonically_increasing_id from (select *, 1 monotonically_increasing_id from events)

-- greatest
select greatest(i, l), least(i, l), nullif(i, 1), if(i > 1, 'a', 'b'), nvl2(i, 1, 2), decode(i, 1, 'one', 'other') from events

-- math
select sqrt(d), pow(d, 2), exp(d), ln(d + 1), log10(d + 1), log2(d + 1), sin(d), sign(d), pmod(i, 3), width_bucket(d, 0, 10, 5), hypot(d, 1), cbrt(d), degrees(d), conv(i, 10, 16), factorial(l), mod(i, 3), positive(i), signum(d), isnan(d) from events

-- url
select parse_url(s, 'HOST'), url_encode(s), try_parse_url(s, 'PATH') from events where s like 'http%'

-- group
select k, count(*), count(i), sum(i), avg(d), min(t), max(m) from events group by k

-- group by position
select k, count(*) c from events group by 1

-- group by all
select k, b, sum(i) from events group by all

-- group by expression
select i % 3 as r, count(*) from events group by i % 3

-- group by alias
select i % 3 as r, count(*) from events group by r

-- having
select k, count(*) c from events group by k having count(*) > 2 and max(i) > 3

-- having alias
select k, sum(i) total from events group by k having total > 10

-- rollup
select k, b, sum(i), grouping(k), grouping_id() from events group by rollup(k, b)

-- cube
select k, b, sum(i), grouping_id(k, b) from events group by cube(k, b)

-- grouping sets
select k, b, count(*) from events group by grouping sets ((k), (b), (k, b), ())

-- filter clause
select k, count(*) filter (where i > 5), sum(i) filter (where b) from events group by k

-- count if
select k, count_if(i > 3), bool_or(b), every(b), any_value(k) from events group by k

-- statistics
select k, stddev(d), variance(d), corr(d, i), covar_pop(d, i), skewness(d), kurtosis(d), percentile(d, 0.5), median(d) from events group by k

-- percentiles
select k, percentile_approx(i, 0.5), approx_percentile(i, array(0.1, 0.9)), percentile_cont(0.5) within group (order by i) from events group by k

-- approx distinct
select k, approx_count_distinct(i) from events group by k

-- lists
select k, sort_array(collect_list(i)), sort_array(collect_set(i)), size(array_agg(i)) from events group by k

-- max by *
select k, max_by(i, id), min_by(s, id), mode(l) is not null from events group by k

-- several by
select k, max_by(i, id, 3), min_by(struct(s, d), id, 10) from events group by k

-- listagg
select k, listagg(s, ',') within group (order by s) from events group by k

-- string agg
select k, string_agg(s, ',') within group (order by s) from events group by k

-- sum of case
select k, sum(case when i > 5 then 1 else 0 end), avg(if(b, d, null)) from events group by k

-- ratio
select k, sum(i) / count(*) r, max(i) - min(i) from events group by k

-- window
select window, k, count(*) from events group by window(t, '10 seconds'), k

-- window bounds
select window.start, window.end, sum(i) from events group by window(t, '10 seconds', '5 seconds')

-- window start
select w.start, c from (select window(t, '5 seconds') w, count(*) c from events group by 1)

-- session window *
select session_window.start, k, count(*) from events group by session_window(t, '5 seconds'), k

-- session gap by row *
select session_window, k, count(*) from events group by session_window(t, case when k = 'k0' then '5 seconds' else '10 seconds' end), k

-- window over window
select window(window_time(window), '20 seconds') w, sum(c) from (select window, count(*) c from events group by window(t, '5 seconds')) group by 1

-- date group
select to_date(t) as dd, count(*) from events group by to_date(t)

-- hour group
select date_trunc('hour', t) h, count(*) from events group by h

-- cte
with big as (select * from events where i > 5) select k, count(*) from big group by k

-- two ctes
with a as (select * from events where i > 5), b as (select k, i + 1 j from a) select * from b where j < 50

-- derived table
select k, c from (select k, count(*) c from events group by k) where c > 1

-- scalar subquery in where
select id from events where i > (select max(high) from limits)

-- scalar subquery in select
select id, i - (select avg(high) from limits) from events

-- scalar subquery in having
select k, sum(i) from events group by k having sum(i) > (select min(high) from limits)

-- scalar subquery in case
select case when i > (select max(high) from limits) then 'high' else 'low' end from events

-- scalar subquery of none
select id, (select high from limits where high < 0) from events

-- scalar subquery in join
select e.id, n.name from events e join names n on e.l = n.id and e.i > (select min(high) from limits)

-- scalar correlated
select id, (select max(name) from names n where n.id = e.l) from events e

-- two scalar subqueries
select id from events where i between (select min(high) from limits) and (select max(high) from limits)

-- struct subquery
select id, (select max(struct(high, kk)) from limits).kk from events

-- in subquery
select id from events where l in (select id from names)

-- not in subquery
select id from events where l not in (select id from names where id is not null)

-- not in with null
select id from events where l not in (select id from names)

-- in subquery in or
select id from events where l in (select id from names) or i > 50

-- not in subquery in or
select id from events where l not in (select id from names where id is not null) or i > 50

-- not in null in or
select id from events where l not in (select id from names) or i > 50

-- in as value
select id, l in (select id from names where id is not null) known from events

-- in as value, nulls
select id, l in (select id from names) known from events

-- in of two
select id from events where (l, k) in (select id, kk from names join limits)

-- exists
select id from events e where exists (select 1 from names n where n.id = e.l)

-- not exists
select id from events e where not exists (select 1 from names n where n.id = e.l and n.id < e.i)

-- exists in or
select id from events e where exists (select 1 from names n where n.id = e.l) or e.i > 50

-- exists as value
select id, exists (select 1 from names n where n.id = e.l) from events e

-- exists uncorrelated
select id from events where exists (select 1 from names where id > 5)

-- exists uncorrelated none
select id from events where exists (select 1 from names where id > 500)

-- exists uncorrelated value
select id, exists (select 1 from names where id > 5) from events

-- in case
select case when l in (select id from names) then 'known' else 'unknown' end from events

-- in subquery and group
select k, count(*) from events where l in (select id from names) group by k

-- join
select e.id, n.name from events e join names n on e.l = n.id

-- left join
select e.id, n.name from events e left join names n on e.l = n.id

-- join using
select id, name from (select l as id, i from events) join names using (id)

-- natural join
select * from (select l as id, i from events) natural join names

-- right join
select e.id, n.name from names n right join events e on e.l = n.id

-- cross join
select e.id, n.name from events e cross join names n

-- comma join
select e.id, n.name from events e, names n where e.l = n.id

-- semi join
select e.id from events e left semi join names n on e.l = n.id

-- anti join
select e.id from events e left anti join names n on e.l = n.id

-- range join
select e.id, x.kk from events e join limits x on e.i between x.low and x.high

-- join hint
select /*+ broadcast(n) */ e.id, n.name from events e join names n on e.l = n.id

-- two joins
select e.id, n.name, x.high from events e join names n on e.l = n.id left join limits x on e.k = x.kk

-- join of values
select e.id, v.c from events e join (values (1, 'a'), (2, 'b')) v(n, c) on e.l = v.n

-- join grouped table
select e.id, g.c from events e join (select kk, count(*) c from limits group by kk) g on e.k = g.kk

-- lateral subquery
select e.id, x.y from events e, lateral (select e.i + 1 as y) x

-- lateral join
select e.id, x.name from events e, lateral (select name from names n where n.id = e.l) x

-- count of table
select e.id from events e cross join (select count(*) c from names) x where e.i > x.c

-- join, table unused
select e.id from events e cross join names n

-- lateral view
select id, x from events lateral view explode(arr) a as x

-- lateral view outer
select id, x from events lateral view outer explode(arr) a as x

-- posexplode
select id, p, x from events lateral view posexplode(arr) a as p, x

-- explode map
select id, key, value from events lateral view explode(mp) kv as key, value

-- explode in select
select id, explode(arr) from events

-- inline
select id, inline(array(struct(1 as a, 'x' as b))) from events

-- stack
select id, stack(2, 'i', cast(i as long), 'l', l) as (name, value) from events

-- lateral explode
select id, x.col from events, lateral explode(arr) x

-- json tuple
select id, x, y from events lateral view json_tuple(js, 'a', 'b') j as x, y

-- split words
select word, count(*) from (select explode(split(s, ' ')) word from events) group by word

-- unpivot
select * from (select id, i, l from events) unpivot (value for name in (i, l))

-- unpivot nulls
select * from (select id, i, l from events) unpivot include nulls (value for name in (i as a, l as b))

-- union all
select id, k from events where i > 3 union all select l, s from events

-- union distinct
select k from events union select s from events

-- pipe
from events |> where i > 3 |> select k, i |> aggregate sum(i) s group by k

-- pipe extend
from events |> extend i + 1 as j |> set k = upper(k) |> drop js |> as e |> where e.j > 3

-- table command
table events

-- qualify-less top
select k, max(struct(id, i)).i from events group by k
